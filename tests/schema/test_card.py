"""A card that lists other files than its folder has is refused in one line."""

import pytest

from polyprobe.schema.load import find_default, load_facts
from polyprobe.system.errors import PolyprobeError
from tests.publish.push.folders import edit, small_dataset


def drop_split(folder):
    edit(folder / "README.md", "  - split: fr\n    path: data/default/fr.parquet\n", "")


def drop_configs(folder):
    edit(folder / "README.md", "configs:\n- config_name", "confids:\n- config_name")


def swap_paths(folder):
    card = folder / "README.md"
    for old, new in (("en.p", "EN.p"), ("fr.p", "en.p"), ("EN.p", "fr.p")):
        edit(card, f"path: data/default/{old}", f"path: data/default/{new}")


def break_yaml(folder):
    edit(folder / "README.md", "configs:", "configs")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (drop_split, "data/default/fr.parquet is in no configuration; build it again"),
        (drop_configs, "data/default/en.parquet is in no configuration; build it again"),
        (swap_paths, "default/en is data/default/fr.parquet, which is the file of another split"),
        (lambda folder: (folder / "data/default/fr.parquet").unlink(), "fr.parquet: no such file"),
        (break_yaml, "README.md: its YAML cannot be read"),
    ],
)
def test_a_card_and_its_files_disagree(spoil, message, tmp_path):
    folder = small_dataset(tmp_path / "small")
    assert [*load_facts(str(folder))] == ["en", "fr"]
    spoil(folder)
    for load in (load_facts, find_default):
        with pytest.raises(PolyprobeError, match=message) as caught:
            load(str(folder))
        assert "\n" not in str(caught.value)


def test_the_command_of_a_card_is_the_remedy(tmp_path):
    folder = small_dataset(tmp_path / "small")
    drop_split(folder)
    edit(
        folder / "README.md", "\n---\n", "\n---\n<!-- made by `polyprobe build small` from x -->\n"
    )
    with pytest.raises(PolyprobeError, match=r"build it again \(polyprobe build small\), or corr"):
        load_facts(str(folder))


@pytest.mark.parametrize(
    "files",
    [
        '  data_files: "data/default/*.parquet"',
        "  data_files:\n  - split: all\n    path: data/*/*.parquet",
        "  data_files:\n  - split: all\n    path:\n    - data/default/en.parquet\n"
        "    - data/default/fr.parquet",
    ],
)
def test_cards_written_by_hand_may_have_patterns(files, tmp_path):
    folder = small_dataset(tmp_path / "small")
    card = f"---\nconfigs:\n- config_name: default\n{files}\n---\n"
    (folder / "README.md").write_text(card, encoding="utf-8")
    assert find_default(str(folder)) == "default"
