"""Every check of `polyprobe push` rejects a folder made to fail it."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from polyprobe.analysis.board.board import make_board
from polyprobe.publish.checks import STAGES, check_source, find_objections
from polyprobe.publish.source import read_source
from polyprobe.report.page.runs import write_board
from polyprobe.system.messages import PolyprobeError
from tests.making.boards import write_table_5
from tests.publish.push.folders import change, edit, metric, small_dataset

EN = "data/default/en.parquet"
FR = "data/default/fr.parquet"


def prompts_without_slot(folder):
    prompts = pq.read_table(folder / FR)["prompt"].to_pylist()
    change(folder / FR, prompt=pa.array([prompts[0], "Rien.", *prompts[2:]]))


def a_column_less(folder):
    pq.write_table(pq.read_table(folder / EN).drop_columns(["subject"]), folder / EN)


def cut_short(folder):
    content = (folder / FR).read_bytes()
    (folder / FR).write_bytes(content[: len(content) // 2])


def a_row_less(folder):
    for path in (EN, FR):
        pq.write_table(pq.read_table(folder / path).slice(0, 19), folder / path)


def change_figure(folder):
    board = json.loads((folder / "board.json").read_text(encoding="utf-8"))
    board["models"][0]["figures"]["accuracy"]["mean"] = 1.0
    (folder / "board.json").write_text(json.dumps(board), encoding="utf-8")


def further_sentences(folder):
    (folder / "sentences").mkdir()
    pq.write_table(pa.table({"note": ["private"]}), folder / "sentences" / "notes.parquet")


def break_column(folder):
    column = pq.read_metadata(folder / EN).row_group(0).column(1)
    start = column.dictionary_page_offset or column.data_page_offset
    content = bytearray((folder / EN).read_bytes())
    content[start : start + 24] = bytes(24)
    (folder / EN).write_bytes(content)


def move_split(folder):
    (folder / FR).rename(folder / "fr.parquet")
    edit(folder / "README.md", f"path: {FR}", "path: fr.parquet")


def write(name, content):
    return lambda folder: (folder / name).write_bytes(content)


DATASETS = {
    "other-files: no configs": (
        lambda folder: edit(folder / "README.md", "configs:", "config:"),
        "README.md: 'configs' lists no data_files",
    ),
    "other-files: missing": (
        lambda folder: (folder / FR).unlink(),
        f"default/fr is {FR}: no such file",
    ),
    "other-files": (
        lambda folder: (
            edit(folder / "README.md", f"path: {FR}", f"path: {EN}") or (folder / FR).unlink()
        ),
        f"default/fr is {EN}, which is the file of another split",
    ),
    "wrong-columns: cut": (cut_short, f"{FR}: cannot be read"),
    "wrong-columns": (a_column_less, f"{EN}: no column 'subject'"),
    "other-features": (a_row_less, f"default/en has 20 rows; {EN} has 19"),
    "wrong-rows": (
        prompts_without_slot,
        r"language 'fr', row 1 \(.*\): the prompt must hold the slot \[Y\] exactly once",
    ),
}
METRICS = {
    "incomplete-card": (
        lambda folder: edit(folder / "README.md", "sdk: gradio\n", ""),
        "'sdk' is missing in the YAML",
    ),
    "incomplete-card: app": (
        lambda folder: (folder / "app.py").unlink(),
        "app_file is 'app.py': no such file",
    ),
    "not-loading": (
        lambda folder: edit(folder / "rankc.py", "measure_rankc)", "measure)"),
        "evaluate cannot load it: NameError",
    ),
}


BOARDS = {
    "incomplete-card": (
        lambda folder: edit(folder / "README.md", "sdk: static", "sdk: gradio"),
        "sdk is 'gradio'; expected 'static'",
    ),
    "incomplete-card: app": (
        lambda folder: (folder / "index.html").unlink(),
        "app_file is 'index.html': no such file",
    ),
    "changed-file": (change_figure, "board.json was changed after it was written; make it again"),
}
CHECKS = {"dataset": DATASETS, "space": METRICS, "board": BOARDS}
NO_FILES = "lists no data_files"
FURTHER = [
    (
        "dataset",
        lambda folder: (folder / FR).rename(folder / "data/default/de.parquet"),
        "README.md: data/default/de.parquet is in no configuration; build it again",
    ),
    ("dataset", move_split, "push takes data/CONFIG/LANGUAGE.parquet only"),
    ("dataset", lambda folder: (folder / "README.md").unlink(), "no README.md"),
    ("dataset", write("README.md", b"---\nlicense: [\n---\n"), "its YAML cannot be read"),
    ("dataset", further_sentences, "sentences/notes.parquet is in no configuration"),
    ("dataset", break_column, "en.parquet: cannot be read"),
    ("dataset", write("README.md", b"---\nlicense: mit\nconfigs: [a]\n---\n"), NO_FILES),
    (
        "space",
        lambda folder: (folder / "rows.py").unlink(),
        "imports rows, which is neither in the",
    ),
    ("space", write("app.py", "# é".encode("latin-1")), "app.py cannot be read as Python"),
    (
        "space",
        write("app.py", b"import os, yamll\n"),
        "app.py imports yamll, which is neither in the folder nor installed",
    ),
    ("space", write("rankc.py", b"raise SystemExit(3)\n"), "evaluate cannot load it"),
    ("board", write("board.json", b"{"), "a file that it names, cannot be read"),
    ("board", lambda folder: (folder / "board.csv").unlink(), "No such file or directory"),
    *(
        ("board", write(name, b"9.999"), f"{name} was changed after it was written; make it again")
        for name in ("index.html", "board.csv", "board.tex")
    ),
]


def make(kind, folder):
    if kind == "board":
        write_board(make_board(write_table_5(folder / "runs")), folder / "leaderboard")
        return folder / "leaderboard"
    return small_dataset(folder / "geofacts") if kind == "dataset" else metric(folder)


@pytest.mark.parametrize("kind", CHECKS)
def test_every_check_has_a_folder_that_fails_it(kind):
    names = {find.__name__.replace("_", "-") for stage in STAGES[kind] for find in stage}
    assert names == {case.partition(":")[0] for case in CHECKS[kind]}


@pytest.mark.parametrize(
    ("kind", "spoil", "message"),
    [*FURTHER, *((kind, *case) for kind, cases in CHECKS.items() for case in cases.values())],
)
def test_a_folder_that_is_not_fit(kind, spoil, message, tmp_path):
    folder = make(kind, tmp_path)
    spoil(folder)
    with pytest.raises(PolyprobeError, match=message) as raised:
        check_source(read_source(folder))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("kind", "sdk"), [("dataset", None), ("space", "gradio"), ("board", "static")]
)
def test_a_folder_that_is_fit(kind, sdk, tmp_path):
    source = read_source(make(kind, tmp_path))
    check_source(source)
    assert source.card.get("sdk") == sdk
    assert source.card["license"] == ("other" if kind == "dataset" else "apache-2.0")


def test_the_card_of_a_board_may_be_edited(tmp_path):
    folder = make("board", tmp_path)
    text = (folder / "README.md").read_text(encoding="utf-8")
    (folder / "README.md").write_text(f"{text}\nMore.\n", encoding="utf-8")
    check_source(read_source(folder))


def test_requirements_are_what_the_files_import_unless_the_folder_has_its_own(tmp_path):
    folder = metric(tmp_path)
    (folder / "app.py").write_text("import yaml, pandas\n")  # a package with another name
    source = read_source(folder)
    check_source(source)
    lines = source.files["requirements.txt"].path.read_text().splitlines()
    assert {"pyyaml>=6", "pandas", "scipy>=1.15"} < {*lines}
    (folder / "requirements.txt").write_text("scipy==1.15\n")
    assert (read_source(folder).place / "requirements.txt").read_text() == "scipy==1.15\n"


def test_licences_that_forbid():
    assert not find_objections({"license": "cc-by-nc-4.0"})
    assert not find_objections({"license": ["apache-2.0", "cc0-1.0"]})
    assert list(find_objections({})) == ["unknown"]
    assert list(find_objections({"license": ["mit", "cc-by-nd-4.0"]})) == ["cc-by-nd-4.0"]
    assert list(find_objections({"license": "other", "license_name": "own"})) == ["other"]
    named = {"license": "other", "license_name": "own", "license_link": "LICENSE"}
    assert not find_objections(named)
    adapted = {"license": "other", "license_name": "cc-by-nc-nd-2.5", "license_link": "LICENSE"}
    assert list(find_objections(adapted)) == ["other"]
