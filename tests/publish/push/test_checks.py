"""Every check of `polyprobe push` rejects a folder made to fail it."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from polyprobe.publish.checks import STAGES, check_source, find_objections
from polyprobe.publish.source import read_source
from polyprobe.system.errors import PolyprobeError
from tests.publish.push.folders import ROOT, change, edit, metric, small_dataset

EN = "data/default/en.parquet"
FR = "data/default/fr.parquet"


def prompts_without_slot(folder):
    prompts = pq.read_table(folder / FR)["prompt"].to_pylist()
    change(folder / FR, prompt=pa.array([prompts[0], "Rien.", *prompts[2:]]))


def answers_out_of_range(folder):
    answers = pq.read_table(folder / EN)["answers"].to_pylist()
    change(folder / EN, answers=pa.array([*answers[:19], [99]], pa.list_(pa.int32())))


def answers_of_null(folder):
    answers = pq.read_table(folder / EN)["answers"].to_pylist()
    change(folder / EN, answers=pa.array([*answers[:19], [None]], pa.list_(pa.int32())))


def rows_in_another_order(folder):
    table = pq.read_table(folder / FR)
    pq.write_table(pa.concat_tables([table[5:], table[:5]]), folder / FR)


def a_column_less(folder):
    pq.write_table(pq.read_table(folder / EN).drop_columns(["subject"]), folder / EN)


def cut_short(folder):
    content = (folder / FR).read_bytes()
    (folder / FR).write_bytes(content[: len(content) // 2])


def a_row_less(folder):
    for path in (EN, FR):
        pq.write_table(pq.read_table(folder / path).slice(0, 19), folder / path)


DATASETS = {
    "no-configs": (
        lambda folder: edit(folder / "README.md", "configs:", "config:"),
        "README.md: 'configs' lists no data_files",
    ),
    "missing-file": (
        lambda folder: (folder / FR).unlink(),
        f"default/fr is {FR}: no such file",
    ),
    "unlisted-file": (
        lambda folder: (folder / FR).rename(folder / "data/default/de.parquet"),
        "data/default/de.parquet is in no configuration of README.md",
    ),
    "swapped-file": (
        lambda folder: (
            edit(folder / "README.md", f"path: {FR}", f"path: {EN}") or (folder / FR).unlink()
        ),
        f"default/fr is {EN}, which is the file of another split",
    ),
    "unreadable": (cut_short, f"{FR}: cannot be read"),
    "wrong-columns": (a_column_less, f"{EN}: no column 'subject'"),
    "other-features": (a_row_less, f"default/en has 20 rows; {EN} has 19"),
    "wrong-rows": (
        prompts_without_slot,
        r"language 'fr', row 1 \(.*\): the prompt must hold the slot \[Y\] exactly once",
    ),
}
ROWS = {
    "an answer is no index into the candidates": answers_out_of_range,
    "a value is missing": answers_of_null,
    "the fact_id differs": rows_in_another_order,
}
METRICS = {
    "incomplete-card": (
        lambda folder: edit(folder / "README.md", "sdk: gradio\n", ""),
        "'sdk' is missing in the YAML",
    ),
    "missing-app": (
        lambda folder: (folder / "app.py").unlink(),
        "app_file is 'app.py': no such file",
    ),
    "missing-sibling": (
        lambda folder: (folder / "rows.py").unlink(),
        "imports .rows, and there is no rows.py",
    ),
    "missing-requirement": (
        lambda folder: edit(folder / "requirements.txt", "scipy", "scipy-stubs"),
        "scipy is missing, which intervals.py imports",
    ),
    "not-loading": (
        lambda folder: edit(folder / "rankc.py", "measure_rankc)", "measure)"),
        "evaluate cannot load it: NameError",
    ),
}


@pytest.mark.parametrize(("kind", "cases"), [("dataset", DATASETS), ("space", METRICS)])
def test_every_check_has_a_folder_that_fails_it(kind, cases):
    assert {code for stage in STAGES[kind] for code in stage} == set(cases)


@pytest.mark.parametrize("code", DATASETS)
def test_a_dataset_that_is_not_fit(code, tmp_path):
    folder = small_dataset(tmp_path / "geofacts")
    assert check_source(read_source(folder))["license"] == "other"
    spoil, message = DATASETS[code]
    spoil(folder)
    with pytest.raises(PolyprobeError, match=message) as raised:
        check_source(read_source(folder))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("message", ROWS)
def test_rows_that_no_model_could_be_asked(message, tmp_path):
    folder = small_dataset(tmp_path / "geofacts")
    ROWS[message](folder)
    with pytest.raises(PolyprobeError, match=f"default: language '..', row .*{message}"):
        check_source(read_source(folder))


def test_files_that_push_does_not_take(tmp_path):
    folder = small_dataset(tmp_path / "geofacts")
    (folder / FR).rename(folder / "fr.parquet")
    edit(folder / "README.md", f"path: {FR}", "path: fr.parquet")
    with pytest.raises(PolyprobeError, match="push takes data/CONFIG/LANGUAGE.parquet only"):
        check_source(read_source(folder))


@pytest.mark.parametrize("code", METRICS)
def test_a_metric_that_is_not_fit(code, tmp_path):
    folder = metric(tmp_path)
    spoil, message = METRICS[code]
    spoil(folder)
    with pytest.raises(PolyprobeError, match=message) as raised:
        check_source(read_source(folder))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", sorted(p.parent.name for p in ROOT.glob("metrics/*/app.py")))
def test_every_metric_is_fit(name):
    source = read_source(ROOT / "metrics" / name)
    assert check_source(source)["sdk"] == "gradio"
    assert {"README.md", "app.py", "requirements.txt", "page.py"} < set(source.files)
    assert not source.left_out


def test_the_embedded_dataset_is_fit():
    source = read_source(ROOT / "datasets" / "geofacts")
    assert check_source(source)["license"] == "other"
    assert len(source.files) == 51 + len({"README.md", "eval.yaml", "LICENSE-UNICODE.txt"})


@pytest.mark.upstream
def test_bmlama_is_fit(bmlama):
    assert check_source(read_source(bmlama))["license"] == "cc-by-nc-4.0"


@pytest.mark.parametrize(
    ("head", "message"),
    [("", "no README.md"), ("---\nlicense: [\n---\n", "its YAML cannot be read")],
)
def test_a_card_that_cannot_be_read(head, message, tmp_path):
    folder = small_dataset(tmp_path / "geofacts")
    (folder / "README.md").unlink()
    if head:
        (folder / "README.md").write_text(head)
    with pytest.raises(PolyprobeError, match=message) as raised:
        check_source(read_source(folder))
    assert "\n" not in str(raised.value)


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
