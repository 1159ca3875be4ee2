"""Impossible exports: a one-line error, and no output."""

import json
import re

import pytest

from polyprobe.publish.export import RUN_FORMATS, export_run
from polyprobe.schema.run.folder import Run
from polyprobe.system.messages import PolyprobeError
from tests.making.exports import ID, copy_run, make_run, make_wide, read_results
from tests.making.runs import reseal


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("mistakes"))


def refused(said, *args, **options):
    with pytest.raises(PolyprobeError, match=said) as caught:
        export_run(*args, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", RUN_FORMATS)
def test_no_run(tmp_path, name):
    refused("is not a run folder: it has no run.json", tmp_path, name, dataset_id=ID)
    refused("nowhere is not a run folder: it has no run.json", tmp_path / "nowhere", name)
    assert not list(tmp_path.iterdir())


def test_without_results_the_command_is_reported(run, tmp_path):
    copy = copy_run(run, tmp_path)
    (copy / "results.json").unlink()
    refused(f"has no results.json; make it with `polyprobe metrics {copy}`", copy, "csv")
    (copy / "scores" / "ru.parquet").unlink()
    refused("scores of 'ru' are missing: repeat the command of the run", copy, "csv")


def test_results_of_another_state_of_the_run(run, tmp_path):
    copy = copy_run(run, tmp_path)
    reseal(copy, limit=5)
    said = "results.json was computed from another state of the run; make it with `polyprobe m"
    refused(said, copy, "csv")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"mean": {"accuracy": float("nan")}}, "results.json: mean.accuracy is nan; make it with"),
        ({"rankc": {"en-ru": float("inf")}}, "results.json: rankc.en-ru is inf; make it with"),
        ({"accuracy": {"en": "0.5"}}, "results.json: accuracy.en is '0.5'; make it with"),
        ({"accuracy": None}, "results.json: accuracy is None; make it with `polyprobe metrics"),
        ({"k_correct": None}, "results.json: k_correct is None; make it with `polyprobe metrics"),
        ({"rankc": {"en-xx": 0.5}}, "results.json: rankc has values of en-xx; make it with"),
        ({"languages": ["en"]}, r"results.json: languages is \['en'\], and in run.json \['en', 'r"),
        ({"by_relation": {"P36": {}}}, "results.json: by_relation: P36: mean is missing; make it"),
        ({"floors": {"luck": {}}}, "unknown floor 'luck' in .*results.json; available: "),
        ({"intervals": {"mean": {"rankc": [0]}}}, "results.json: intervals.mean.rankc is "),
    ],
)
def test_spoiled_results(run, tmp_path, changed, said):
    copy = copy_run(run, tmp_path, **changed)
    for name in RUN_FORMATS:
        refused(said, copy, name, dataset_id=ID)


def test_nothing_defined(tmp_path):
    run = make_wide(tmp_path, 1)
    results = read_results(run) | {"accuracy": {"l0": None}}
    results["mean"] = dict.fromkeys(results["mean"])
    results["k_correct"] = []
    Run(run).write_results(results)
    for name in set(RUN_FORMATS) - {"csv"}:
        refused("results.json has no defined figure", run, name)


@pytest.mark.parametrize("name", ["facts", "a/b/c", "a b/c"])
def test_a_dataset_id_is_owner_and_name(run, name):
    refused(
        re.escape(f"{name!r} is not a repository name OWNER/NAME; correct --dataset-id"),
        run,
        "csv",
        dataset_id=name,
    )


def test_eval_results_need_the_dataset_s_name(run):
    refused(
        "is of a dataset in a folder .facts.; give .* --dataset-id OWNER/NAME", run, "eval-results"
    )


def test_what_we_did_not_write_is_not_replaced(run, tmp_path):
    mine = tmp_path / "mine"
    for name in set(RUN_FORMATS) - {"every-eval-ever"}:
        mine.write_text("my thesis\n")
        refused("mine is not an export of this format; nothing was exported", run, name, mine, ID)
        assert mine.read_text() == "my thesis\n"
        mine.unlink()
        export_run(run, name, mine, ID)
        written = mine.read_bytes()
        assert export_run(run, name, mine, ID).read_bytes() == written
        mine.unlink()


def test_a_place_below_a_file(run, tmp_path):
    (tmp_path / "file").touch()
    for name in RUN_FORMATS:
        refused(
            "cannot write .*file/x.*; nothing was exported", run, name, tmp_path / "file" / "x", ID
        )
    refused("cannot write .*: Is a directory; nothing was", run, "csv", tmp_path)


def test_card_is_for_model_index(run, tmp_path):
    said = "--card goes with --format model-index, and without --output"
    refused(said, run, "csv", card=tmp_path / "README.md")
    refused(said, run, "model-index", tmp_path / "a.yaml", card=tmp_path / "README.md")


def test_a_run_without_rankings_exports_what_it_has(tmp_path):
    run = make_wide(tmp_path, 3, scoring="xfactr-independent-none-m3-b1")
    known = read_results(run)
    results = {key: value for key, value in known.items() if not key.startswith("rankc")}
    counts = {"n_queries": 8, "n_single": 0, "n_multi": 8, "n_unpredicted": 1}
    bounds = dict.fromkeys(("all_ci", "single_ci", "multi_ci"))
    one = {"all": 0.0, "single": None, "multi": 0.0, **bounds, **counts}
    results |= {
        "mean": {"accuracy": 0.0, "coverlap": None},
        "coverlap": dict.fromkeys(known["coverlap"]),
        "factual_accuracy": dict.fromkeys(known["languages"], one),
        "left_out": {"coverlap": 3},
    }
    del results["chance"]
    Run(run).write_results(results)
    made = {name: export_run(run, name).read_text(encoding="utf-8") for name in RUN_FORMATS}
    assert "17_accuracy" in made["eval-results"]
    assert "rankc" not in "".join(made.values())
    assert "model & mean & l0 & l1 & l2" in made["latex"]
    assert "\nfactual_accuracy.multi,l0,,0.0,,,,8," in made["csv"]
    record = json.loads(made["every-eval-ever"])["evaluation_results"]
    assert record[0]["metric_config"]["metric_id"] == "polyprobe.accuracy"
    assert record[0]["metric_config"]["metric_name"] == "factual accuracy"
