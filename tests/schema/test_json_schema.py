"""The JSON Schemas of run.json and results.json: as generated, and true of real runs."""

import json
import subprocess
import sys

import pytest

from bench.schemas import FOLDER, make_schemas
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.shapes import RESULTS, find_wrong_shape

jsonschema = pytest.importorskip("jsonschema")
COMMAND = [sys.executable, "-m", "polyprobe"]


def read_schema(name):
    return json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))


def find_faults(folder):
    for name in ("run", "results"):
        validator = jsonschema.Draft202012Validator(read_schema(name))
        value = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        yield from (f"{name}: {x.json_path} {x.message:.80}" for x in validator.iter_errors(value))


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "geo"
    line = "geolm --dataset geofacts --languages en,es,el --sample 12 --scoring object --output"
    for words in (
        ["eval", *line.split(), folder],
        ["metrics", folder, "--figures", "default,right_in_both"],
    ):
        subprocess.run([*COMMAND, *words], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("name", ["run", "results"])
def test_the_files_are_those_of_the_shapes(name):
    schema = read_schema(name)
    assert schema == make_schemas()[name], "run `python -m bench schemas`"
    jsonschema.Draft202012Validator.check_schema(schema)


def test_the_version_changes_with_the_shapes(monkeypatch):
    before = {name: schema["$id"] for name, schema in make_schemas().items()}
    monkeypatch.setitem(RESULTS, "new", int)
    after = {name: schema["$id"] for name, schema in make_schemas().items()}
    assert before["run"] == after["run"]
    assert before["results"] != after["results"]
    assert after["results"].startswith("urn:polyprobe:results:2-")


@pytest.mark.slow
@pytest.mark.acceptance
def test_an_evaluated_run_is_valid(evaluated):
    assert [*find_faults(evaluated)] == []


def test_an_imported_run_is_valid(tmp_path):
    from polyprobe.eval import import_scores

    tables = load_facts("geofacts", languages=["en", "el"])
    scores = {
        language: [[-len(name) for name in names] for names in table["candidates"].to_pylist()]
        for language, table in tables.items()
    }
    import_scores(scores, "geofacts", output=tmp_path / "run")
    assert [*find_faults(tmp_path / "run")] == []


# What readers of run.json and results.json refuse, the schema refuses too.
DAMAGE = {
    "mean": {"accuracy": "x"},
    "n_queries": -1,
    "languages": "en",
    "accuracy": {"en": [1]},
    "accuracy_ci": [0.5],
    "k_correct": {"en": 1},
    "intervals": {"accuracy": {"en": [1, 2, 3]}},
    "by_relation": {"P36": {"n_queries": 0.5}},
    "own_candidates": 1,
    "left_out": {"rows": {"x": "y"}},
    "calibration": {"en": {"bins": {"n": [1, 2], "accuracy": [0.5]}}},
}
SOUND = {"signature": "s", "languages": ["en"], "n_queries": 1, "mean": {"accuracy": 0.5}}


@pytest.mark.parametrize("key", DAMAGE)
def test_the_schema_refuses_what_a_reader_refuses(key):
    validator = jsonschema.Draft202012Validator(read_schema("results"))
    assert validator.is_valid(SOUND)
    assert not find_wrong_shape(SOUND, RESULTS)
    damaged = SOUND | {key: DAMAGE[key]}
    assert find_wrong_shape(damaged, RESULTS)
    assert not validator.is_valid(damaged)
