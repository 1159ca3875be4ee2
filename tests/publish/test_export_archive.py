"""The record for Every Eval Ever, compared with the archive's schema if available.

EVERY_EVAL_EVER names the wheel of the package every-eval-ever, or a folder that contains it:
pip download --no-deps --python-version 3.12 --only-binary=:all: every-eval-ever==0.3.0
"""

import json
import os
import re
import zipfile
from pathlib import Path

import pytest

from polyprobe.publish.export import export_run
from polyprobe.publish.export.every_eval_ever import SCHEMA
from tests.making.exports import ID, copy_run, make_run, make_wide, read_results

OPTIONS = {"popularity": True, "max_masks": 3, "figures": ["rankc", "accuracy"]}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("archive"))


@pytest.fixture(scope="module")
def archive():
    place = Path(os.environ.get("EVERY_EVAL_EVER", "missing"))
    wheels = sorted(place.glob("every_eval_ever-*.whl")) if place.is_dir() else [place]
    if not wheels or not wheels[-1].is_file():
        pytest.skip("needs the wheel of every-eval-ever: set EVERY_EVAL_EVER to its place")
    with zipfile.ZipFile(wheels[-1]) as wheel:
        return json.loads(wheel.read("every_eval_ever/schemas/eval.schema.json"))


def read(file):
    def refuse(constant):
        raise AssertionError(constant)

    return json.loads(file.read_text(encoding="utf-8"), parse_constant=refuse)


def test_the_record_keeps_the_archive_s_schema(archive, run, tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    assert archive["version"] == SCHEMA
    validator = jsonschema.Draft7Validator(archive)
    for place in (run, make_wide(tmp_path, 5), copy_run(run, tmp_path, options=OPTIONS)):
        validator.validate(read(export_run(place, "every-eval-ever")))
        validator.validate(read(export_run(place, "every-eval-ever", dataset_id=ID)))


def test_scores_are_those_of_the_results_and_lie_within_their_bounds(run):
    results = read_results(run)
    record = read(export_run(run, "every-eval-ever"))
    found = {r["evaluation_result_id"]: r for r in record["evaluation_results"]}
    assert len(found) == len(record["evaluation_results"])
    scores = {name: result["score_details"]["score"] for name, result in found.items()}
    for language, value in results["accuracy"].items():
        assert scores[f"accuracy.{language}"] == value
        assert found[f"accuracy.{language}"]["metric_config"]["metric_id"] == "accuracy"
    assert scores["rankc.mean"] == results["mean"]["rankc"]
    assert scores["kappa.all"] == results["kappa"]
    assert not any("-" in name for name in found)  # pairs are for csv
    interval = found["rankc.mean"]["score_details"]["uncertainty"]["confidence_interval"]
    assert [interval["lower"], interval["upper"]] == results["intervals"]["mean"]["rankc"]
    for result in found.values():
        bounds = result["metric_config"]
        low, high = (float(bounds[name]) for name in ("min_score", "max_score"))
        assert low <= result["score_details"]["score"] <= high


def test_shares_of_types_of_errors_have_no_direction(tmp_path):
    """Less of one type may be more of another: the record, which needs directions, has none."""
    run = make_wide(tmp_path, 2, scoring="xfactr-independent-none-m3-b1")
    kinds = {"n_queries": 4, "subject": 0.75, "other": 0.25}
    accuracy = {"all": 0.5, "single": None, "multi": 0.5, "n_queries": 4, "n_multi": 4}
    both = {"error_types": {"l1": kinds}, "factual_accuracy": {"l1": accuracy}}
    copy = copy_run(run, tmp_path, **both)
    record = read(export_run(copy, "every-eval-ever", dataset_id=ID))
    found = {r["evaluation_result_id"] for r in record["evaluation_results"]}
    assert {"factual_accuracy.all.l1", "factual_accuracy.multi.l1"} <= found
    assert not any("error_types" in name for name in found)
    lines = export_run(copy, "csv", dataset_id=ID).read_text(encoding="utf-8").splitlines()
    assert sum("error_types.subject" in line for line in lines) == 1
    index = export_run(copy, "model-index", dataset_id=ID).read_text(encoding="utf-8")
    assert "error_types" not in index


def test_the_path_is_the_archive_s(run, tmp_path):
    uuid4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.json"
    local = export_run(run, "every-eval-ever", tmp_path / "archive")
    assert re.fullmatch(f"data/facts/unknown/synthetic/{uuid4}", place(local, tmp_path / "archive"))
    named = export_run(run, "every-eval-ever", tmp_path / "archive", dataset_id=ID)
    assert place(named, tmp_path / "archive").startswith("data/someone_facts/unknown/synthetic/")
    assert named.name != local.name
    other = make_wide(tmp_path, 2, model="x/a:b.gguf")
    assert "/data/someone_facts/x/a_b.gguf/" in export_run(other, "every-eval-ever").as_posix()


def place(file, root):
    return file.relative_to(root).as_posix()


def test_a_model_in_a_folder_has_no_maker(tmp_path):
    local = make_wide(tmp_path / "a", 2, model="/home/me/model", revision="sha256-0123")
    model = read(export_run(local, "every-eval-ever"))["model_info"]
    assert model["id"] == "model"
    assert "developer" not in model
    assert model["additional_details"]["model_availability"] == "unknown"
    hub = read(export_run(make_wide(tmp_path / "b", 2), "every-eval-ever"))["model_info"]
    assert (hub["id"], hub["developer"]) == ("someone/model_1", "someone")
    assert hub["additional_details"]["model_availability"] == "open_weights"
