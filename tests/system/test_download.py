import hashlib
import sys

import pytest

from polyprobe.builder.build import build_dataset
from polyprobe.builder.sources import bmlama as bmlama_files
from polyprobe.builder.sources.bmlama import PUBLISHED
from polyprobe.system.download import Repository, read_archive, read_files, read_sums
from polyprobe.system.messages import PolyprobeError
from tests.builder.tiny import describe, pack

A = bytes(range(256)) * 160  # 40,960 bytes
CONTENTS = {"data/a.bin": A, "data/b.txt": "ä\r\n".encode()}
URL = "/someone/things/archive/0123456789abcdef.zip"


@pytest.fixture
def repository(server, tmp_path) -> Repository:
    """A repository whose zipball is on the server."""
    repository = describe(CONTENTS)
    server.contents[URL] = zip_up(tmp_path, repository, CONTENTS)
    return repository


def zip_up(tmp_path, repository, contents) -> bytes:
    folder = tmp_path / "github"
    folder.mkdir(exist_ok=True)
    return pack(folder, repository, contents).read_bytes()


def read(repository, mirror=None) -> dict[str, bytes]:
    paths = list(repository.sha256)
    return dict(zip(paths, read_files(repository, paths, mirror), strict=True))


def cached(tmp_path) -> list[str]:
    return [path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_sums_are_read_as_sha256sum_writes_them(monkeypatch, tmp_path):
    (tmp_path / "summed").mkdir()
    (tmp_path / "summed" / "x.sha256").write_text("00ff  a b.tsv\n11ee  c/d.tsv\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert read_sums("summed", "x.sha256") == {"a b.tsv": "00ff", "c/d.tsv": "11ee"}


def test_the_zipball_is_that_of_the_pinned_commit(monkeypatch):
    monkeypatch.delenv("POLYPROBE_GITHUB", raising=False)
    assert describe({}).url == "https://github.com/someone/things/archive/0123456789abcdef.zip"


def test_download_is_cached_in_the_form_of_a_mirror(repository, server, tmp_path):
    assert read(repository) == CONTENTS
    assert server.requests == [URL]
    assert read(repository) == CONTENTS
    assert server.requests == [URL]
    assert cached(tmp_path) == [repository.archive]
    assert read(repository, next((tmp_path / "cache").rglob("*.zip")).parent) == CONTENTS


def spoil_second(content: bytes) -> bytes:
    place = content.index("ä\r\n".encode())
    return content[:place] + b"x" + content[place + 1 :]


@pytest.mark.parametrize(
    "damage", [lambda _: b"rot", spoil_second], ids=["all of it", "its second file"]
)
def test_damaged_cache_is_downloaded_again(repository, server, tmp_path, damage):
    read(repository)
    archive = next((tmp_path / "cache").rglob("*.zip"))
    archive.write_bytes(damage(archive.read_bytes()))
    assert read(repository) == CONTENTS
    assert server.requests == [URL, URL]


@pytest.mark.parametrize("cut", [0, 20_000])
def test_cut_download_leaves_nothing_and_the_next_run_has_it_all(repository, server, tmp_path, cut):
    server.cuts = [cut]
    with pytest.raises(PolyprobeError, match=r"cannot download .* try again, or give the folder"):
        read(repository)
    assert cached(tmp_path) == []
    assert read(repository) == CONTENTS


def test_wrong_content_says_what_was_done(repository, server, tmp_path):
    good = server.contents[URL]
    server.contents[URL] = zip_up(tmp_path, repository, CONTENTS | {"data/a.bin": b"other"})
    with pytest.raises(PolyprobeError) as caught:
        read(repository)
    message = str(caught.value)
    assert f"{server.server_port}{URL}" in message
    assert hashlib.sha256(A).hexdigest() in message
    assert hashlib.sha256(b"other").hexdigest() in message
    assert message.endswith("the download was deleted")
    assert "\n" not in message
    assert cached(tmp_path) == []
    server.contents[URL] = good
    assert read(repository) == CONTENTS


def test_a_page_instead_of_an_archive_is_named(repository, server, tmp_path):
    server.contents[URL] = b"<html>maintenance</html>"
    with pytest.raises(PolyprobeError, match="cut short or corrupt .*the download was deleted"):
        read(repository)
    assert cached(tmp_path) == []


def test_no_network_names_the_mirror(repository, monkeypatch):
    monkeypatch.setenv("POLYPROBE_GITHUB", "http://127.0.0.1:9")
    with pytest.raises(PolyprobeError, match=r"ConnectionError.*@0123456789ab\.zip as --mirror"):
        read(repository)


def test_missing_archive_names_the_status(repository, server):
    del server.contents[URL]
    with pytest.raises(PolyprobeError, match=r"abcdef\.zip \(HTTP status 404\)"):
        read(repository)


def test_cache_folder_that_cannot_be_made(repository, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(PolyprobeError, match=r"cannot write to the cache folder .*: Not a dir"):
        read(repository)


def test_one_archive_by_its_own_sum(server, tmp_path):
    server.contents["/x/a.zip"] = A
    url = f"http://127.0.0.1:{server.server_port}/x/a.zip"
    sha256 = hashlib.sha256(A).hexdigest()
    server.cuts = [100]
    with pytest.raises(PolyprobeError, match="cannot download"):
        read_archive(url, sha256)
    assert cached(tmp_path) == []
    for _ in range(2):
        assert read_archive(url, sha256) == A
    assert server.requests == ["/x/a.zip"] * 2


@pytest.mark.parametrize("package", ["pooch", "requests"])
def test_missing_extras_are_named(package, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    if package == "requests":  # also required by pooch
        monkeypatch.delitem(sys.modules, "pooch", raising=False)
    with pytest.raises(PolyprobeError, match=rf"{package}: pip install 'polyprobe\[builder\]'"):
        build_dataset("bmlama", PUBLISHED, output=tmp_path / "out")


def test_bmlama_downloads_what_the_mirror_holds(tiny, server, tmp_path):
    """Network and mirror give the same bytes."""
    server.contents[URL] = (tiny / bmlama_files.REPOSITORY.archive).read_bytes()
    folders = [tmp_path / "net", tmp_path / "zip"]
    build_dataset("bmlama", PUBLISHED, output=folders[0])
    build_dataset("bmlama", PUBLISHED, mirror=tiny, output=folders[1])
    net, zipped = ({p.relative_to(f): p.read_bytes() for p in f.rglob("*.*t")} for f in folders)
    assert len(net) == 6
    assert net == zipped


def test_mirror_gives_the_contents(tmp_path):
    pack(tmp_path, describe(CONTENTS), CONTENTS)
    assert read(describe(CONTENTS), tmp_path) == CONTENTS


def test_mirror_without_the_archive_names_it(tmp_path):
    with pytest.raises(PolyprobeError, match=r"no archive someone__things@0123456789ab\.zip in"):
        read(describe(CONTENTS), tmp_path)


def test_mirror_with_another_content_gives_both_sums(tmp_path):
    pack(tmp_path, describe(CONTENTS), CONTENTS | {"data/a.bin": b"x"})
    expected, got = (hashlib.sha256(content).hexdigest() for content in (A, b"x"))
    with pytest.raises(PolyprobeError, match=f"expected SHA-256 {expected}, got {got}; nothing"):
        read(describe(CONTENTS), tmp_path)


def test_mirror_whose_archive_lacks_a_file(tmp_path):
    pack(tmp_path, describe(CONTENTS), {"data/a.bin": A})
    with pytest.raises(PolyprobeError, match=r"a file is missing in .*data/b\.txt"):
        read(describe(CONTENTS), tmp_path)


def cut_short(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flip_bits(content: bytes) -> bytes:
    middle = 20_000  # inside the first file
    return content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]


@pytest.mark.parametrize("damage", [cut_short, flip_bits, lambda _: b""])
def test_damaged_archive_is_reported(damage, tmp_path):
    archive = pack(tmp_path, describe(CONTENTS), CONTENTS)
    archive.write_bytes(damage(archive.read_bytes()))
    with pytest.raises(PolyprobeError, match="is cut short or corrupt"):
        read(describe(CONTENTS), tmp_path)


@pytest.mark.parametrize("flag", [0x20, 0x01])
def test_damage_in_an_archives_directory_is_reported_in_one_line(tmp_path, flag):
    """zipfile raises NotImplementedError and RuntimeError for unknown flags."""
    repository = describe({"a.txt": b"content"})
    archive = pack(tmp_path, repository, {"a.txt": b"content"})
    content = bytearray(archive.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= flag
    archive.write_bytes(content)
    with pytest.raises(PolyprobeError, match="is cut short or corrupt"):
        list(read_files(repository, ["a.txt"], tmp_path))
