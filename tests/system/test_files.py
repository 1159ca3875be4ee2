"""Files are written completely or not at all."""

import pytest

from polyprobe.system.files import write_text, write_whole
from polyprobe.system.messages import PolyprobeError


@pytest.mark.parametrize(
    ("error", "seen"), [(KeyboardInterrupt, KeyboardInterrupt), (OSError("full"), PolyprobeError)]
)
def test_what_ends_a_write_leaves_the_old_file_and_no_part(tmp_path, error, seen):
    file = tmp_path / "a.txt"
    file.write_text("old")

    def write(part):
        part.write_text("half")
        raise error

    with pytest.raises(seen):
        write_whole(file, write, "make room")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.txt", "old")]


def test_a_text_that_is_no_unicode_needs_no_room(tmp_path):
    with pytest.raises(PolyprobeError, match="surrogates not allowed; correct the text where"):
        write_text(tmp_path / "run.json", "\ud800", "make room and run the same command again")
    assert not [*tmp_path.iterdir()]
