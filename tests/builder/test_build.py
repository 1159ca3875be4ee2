import subprocess
import sys
from importlib import resources

import pytest

from polyprobe.builder.build import build_dataset
from polyprobe.builder.recipes import RECIPES, load_recipe
from polyprobe.builder.sources.bmlama import PUBLISHED
from polyprobe.system.messages import PolyprobeError


def listing(folder) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


TINY_FILES = [f"data/{c}/{lang}.parquet" for c in ("17", "53") for lang in ("en", "he", "zh")]


def test_every_source_is_in_the_table():
    folder = resources.files("polyprobe.builder.recipes")
    found = {
        path.name
        for path in folder.iterdir()
        if (module := path.joinpath("__init__.py")).is_file()
        and "\ndef build(config" in module.read_text(encoding="utf-8")
    }
    assert found == {name.replace("-", "_") for name in RECIPES}


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_sources_keep_the_contract(name):
    assert load_recipe(name).DEFAULT_CONFIG in RECIPES[name].configs


def test_building_imports_no_model():
    code = (
        "import sys\nimport polyprobe.builder.build\n"
        "from polyprobe.builder.recipes import RECIPES, REQUESTED, load_recipe\n"
        "for name in (*RECIPES, *REQUESTED):\n    load_recipe(name)\n"
        "print({'torch', 'transformers', 'datasets', 'evaluate', 'scipy'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_each_configuration_is_a_line_of_a_log(tiny, tmp_path, capsys):
    build_dataset("bmlama", ["17", "53"], tiny, tmp_path / "out")
    assert capsys.readouterr().err.splitlines() == [
        "building bmlama/17 (1 of 2)",
        "building bmlama/53 (2 of 2)",
    ]


def test_building_one_keeps_the_other(tiny, tmp_path):
    out = tmp_path / "out"
    out.mkdir()  # an empty folder is accepted
    build_dataset("bmlama", ["53"], tiny, out)
    assert "config_name: '17'" not in (out / "README.md").read_text(encoding="utf-8")
    kept = (out / "data/53/en.parquet").stat()
    build_dataset("bmlama", ["17"], tiny, out)
    assert listing(out) == ["README.md", *TINY_FILES, "eval.yaml"]
    assert (out / "data/53/en.parquet").stat() == kept
    card = (out / "README.md").read_text(encoding="utf-8")
    assert card.index("config_name: '17'\n  default: true") < card.index("config_name: '53'")


def test_what_was_built_before_a_failure_has_its_card(tiny, tmp_path, monkeypatch):
    from polyprobe.builder.sources import bmlama as bmlama_files

    sums = {path: "00" if "53" in path else s for path, s in bmlama_files.REPOSITORY.sha256.items()}
    monkeypatch.setattr(bmlama_files, "REPOSITORY", bmlama_files.REPOSITORY._replace(sha256=sums))
    with pytest.raises(PolyprobeError, match="expected SHA-256 00, got"):
        build_dataset("bmlama", PUBLISHED, mirror=tiny, output=tmp_path / "out")
    assert listing(tmp_path / "out") == ["README.md", *TINY_FILES[:3], "eval.yaml"]


def test_what_a_killed_first_build_left_is_accepted(tiny, tmp_path):
    begun = tmp_path / "out" / "data" / ".17.new"
    begun.mkdir(parents=True)
    (begun / "en.parquet").write_bytes(b"half")
    build_dataset("bmlama", ["17"], tiny, tmp_path / "out")
    assert listing(tmp_path / "out") == ["README.md", *TINY_FILES[:3], "eval.yaml"]


def test_our_own_folder_may_hold_more(tiny, tmp_path):
    build_dataset("bmlama", ["17"], tiny, tmp_path / "out")
    (tmp_path / "out" / "notes.txt").touch()
    build_dataset("bmlama", ["17"], tiny, tmp_path / "out")
    assert "notes.txt" in listing(tmp_path / "out")


@pytest.mark.parametrize("path", ["thesis.tex", "README.md", "data/thesis.tex", "data/18/a"])
def test_a_folder_with_something_else_is_left_alone(tiny, tmp_path, path):
    file = tmp_path / "out" / path
    file.parent.mkdir(parents=True)
    file.write_text("mine", encoding="utf-8")
    with pytest.raises(PolyprobeError, match="out holds something other than a build of bmlama"):
        build_dataset("bmlama", PUBLISHED, mirror=tiny, output=tmp_path / "out")
    assert listing(tmp_path / "out") == [path]


def test_a_card_of_another_dataset_is_left_alone(tiny, tmp_path):
    build_dataset("bmlama", ["17"], tiny, tmp_path / "out")
    with pytest.raises(PolyprobeError, match="something other than a build of geofacts"):
        build_dataset("geofacts", output=tmp_path / "out")


def test_a_licence_may_lie_there_before_the_first_build(tiny, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "LICENSE-UNICODE.txt").touch()
    build_dataset("bmlama", ["17"], tiny, tmp_path / "out")
    assert "LICENSE-UNICODE.txt" in listing(tmp_path / "out")


def test_a_file_is_not_a_folder(tiny, tmp_path):
    (tmp_path / "out").touch()
    with pytest.raises(PolyprobeError, match="out is a file; give --output a folder"):
        build_dataset("bmlama", PUBLISHED, mirror=tiny, output=tmp_path / "out")


def test_a_damaged_neighbour_is_named(tiny, tmp_path):
    build_dataset("bmlama", PUBLISHED, mirror=tiny, output=tmp_path / "out")
    (tmp_path / "out/data/53/he.parquet").write_bytes(b"rot")
    with pytest.raises(PolyprobeError, match=r"he\.parquet is not a Parquet file; .*--config 53"):
        build_dataset("bmlama", ["17"], tiny, tmp_path / "out")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("bmlamma",),
            "unknown dataset 'bmlamma' in polyprobe; did you mean 'bmlama'\\? available: b.*",
        ),
        (
            ("bmlama", ["18"]),
            "unknown configuration '18' in bmlama; did you mean '17'\\? available: 17, .*",
        ),
    ],
)
def test_unknown_names_list_the_known(tiny, tmp_path, arguments, message):
    with pytest.raises(PolyprobeError, match=f"^{message}$"):
        build_dataset(*arguments, mirror=tiny, output=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_mirror_that_is_not_there(tmp_path):
    with pytest.raises(PolyprobeError, match=r"^no mirror folder .*nowhere$"):
        build_dataset("bmlama", PUBLISHED, mirror=tmp_path / "nowhere", output=tmp_path / "out")
    assert not (tmp_path / "out").exists()
