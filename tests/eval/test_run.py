"""The run on disk: resumed bit for bit, recomputed without the model, never mixed up."""

import json
import math
import resource
import shutil
import signal
import subprocess

import numpy as np
import pyarrow.parquet as pq
import pytest

from polyprobe.analysis.figures.compute import compute_results
from polyprobe.analysis.figures.facts import masked_scores
from polyprobe.eval import evaluate_model
from polyprobe.schema.run.folder import Run
from polyprobe.scoring.load import load_scorer
from polyprobe.system.errors import PolyprobeError
from tests.hub.client import POLYPROBE
from tests.making import tiny
from tests.making.facts import CITIES, rows, write_facts
from tests.making.runs import read_files

PAIRS = ["en-ru", "en-zh_hans", "ru-zh_hans"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with a model and a dataset of 8 facts in 3 languages.

    The model is a byte-level GPT-2, which covers every script: no two scores tie.
    """
    folder = tmp_path_factory.mktemp("place")
    tiny.save_model("gpt2", folder / "model")
    write_facts(folder / "facts")
    return folder


@pytest.fixture(scope="module")
def done(place):
    results = evaluate_model(str(place / "model"), str(place / "facts"), output=place / "done")
    return place / "done", results


def test_the_folder_holds_what_design_says(place, done):
    folder, results = done
    names = {str(name) for name in read_files(folder)}
    assert names == {"run.json", "results.json", *(f"scores/{x}.parquet" for x in CITIES)}
    written = json.loads((folder / "results.json").read_text())
    said = json.loads((folder / "run.json").read_text())
    seals = {"run_sha256": said["sha256"], "sha256": written["sha256"]}
    assert written == {**results, **seals}
    assert said["signature"] == results["signature"]
    for part in (
        "model:",
        "path:tree",
        "data:",
        "scoring:bmlama-eq10",
        "dtype:float32",
        "torch:",
        "rows:limit=",
    ):
        assert part in said["signature"]
    table = pq.read_table(folder / "scores" / "ru.parquet")
    assert table.schema.names == [
        "fact_id", "relation", "answers", "scores", "n_tokens", "n_characters", "flags", "baseline",
        "donor", "donor_scores", "position_effects", "majority", "reviewed", "repeated",
        "prompt_log_probability", "n_prompt_tokens",
    ]  # fmt: skip
    assert [str(t) for t in table.schema.types][3:] == [
        "list<element: float>",
        "list<element: int32>",
        "list<element: int32>",
        "list<element: string>",
        "float",
        "string",
        "list<element: float>",
        "list<element: float>",
        "float",
        "bool",
        "list<element: string>",
        "float",
        "int32",
    ]
    assert table["fact_id"].to_pylist() == [row.fact_id for row in rows("ru")]


def test_scores_are_the_scorer_s_own(place, done):
    scorer = load_scorer(str(place / "model"))
    for language in CITIES:
        made = rows(language)
        want = scorer.score([row.prompt for row in made], [row.candidates for row in made])
        got = Run(done[0]).read(language)["scores"].to_pylist()
        assert got == [[np.float32(x) for x in row] for row in want]


def test_results_follow_from_the_definitions(done):
    """Accuracy, COverlap and RankC written out, on the rankings of the run's scores (no ties)."""
    folder, results = done
    scores = {x: Run(folder).read(x)["scores"].to_pylist() for x in CITIES}
    right = {
        x: [
            max(range(len(row)), key=row.__getitem__) == made.answers[0]
            for row, made in zip(scores[x], rows(x), strict=True)
        ]
        for x in CITIES
    }
    for x in CITIES:
        assert results["accuracy"][x] == pytest.approx(sum(right[x]) / 8)
    assert list(results["rankc"]) == list(results["coverlap"]) == PAIRS
    for pair in PAIRS:
        a, b = pair.split("-")
        both = sum(p and q for p, q in zip(right[a], right[b], strict=True))
        either = sum(p or q for p, q in zip(right[a], right[b], strict=True))
        assert results["coverlap"][pair] == (pytest.approx(both / either) if either else None)
        per_query = [rank_consistency(*two) for two in zip(scores[a], scores[b], strict=True)]
        assert results["rankc"][pair] == pytest.approx(sum(per_query) / 8)
    for name in ("accuracy", "rankc", "rankc_adjusted"):
        values = results[name].values()
        assert results["mean"][name] == pytest.approx(sum(values) / len(values))
    assert results["chance"]["accuracy"] == pytest.approx((1 / 4 + 1 / 2) / 2)
    assert results["n_queries"] == 8


def rank_consistency(first, second):
    """RankC of one query by the paper's equation 6, with sets."""
    n = len(first)
    weights = [math.exp(n - j) for j in range(1, n + 1)]
    orders = [sorted(range(n), key=lambda k: -s[k]) for s in (first, second)]
    return sum(
        w / sum(weights) * len(set(orders[0][:j]) & set(orders[1][:j])) / j
        for j, w in enumerate(weights, 1)
    )


def test_results_are_recomputed_without_the_model(place, done, tmp_path):
    copy = shutil.copytree(done[0], tmp_path / "copy")
    (copy / "results.json").unlink()
    assert compute_results(Run(copy)) == done[1]


def test_a_second_call_scores_nothing_and_changes_nothing(place, done, monkeypatch):
    before = read_files(done[0])
    monkeypatch.setattr("polyprobe.eval.evaluate.fill_scores", lambda *_: pytest.fail("scored"))
    evaluate_model(str(place / "model"), str(place / "facts"), output=done[0])
    assert read_files(done[0]) == before


def test_languages_can_be_added(place, done, tmp_path):
    for languages in (["en", "ru"], ["zh_hans"]):
        results = evaluate_model(
            str(place / "model"), str(place / "facts"), output=tmp_path / "run", languages=languages
        )
    assert results == done[1]
    assert read_files(tmp_path / "run") == read_files(done[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"limit": 3}, "limit: None, asked for 3"),
        ({"sample": 3}, "sample: None, asked for 3"),
        ({"dtype": "bfloat16"}, "dtype: 'float32', asked for 'bfloat16'"),
        ({"model": "other"}, "model: "),
        ({"dataset": "other"}, "was scored on other data: the split 'en' has changed"),
    ],
)
def test_the_folder_of_another_run_is_refused(change, message, place, done, tmp_path):
    before = read_files(done[0])
    asked = {"model": str(place / "model"), "dataset": str(place / "facts"), **change}
    if change.get("model"):
        asked["model"] = str(tiny.save_model("llama", tmp_path / "other"))
    if change.get("dataset"):
        copy = shutil.copytree(done[0], tmp_path / "copy")
        file = place / "facts" / "data" / "small" / "en.parquet"
        kept = file.read_bytes()
        write_facts(tmp_path / "spoiled", lambda _, made: made[1:] + made[:1])
        try:
            shutil.copytree(tmp_path / "spoiled", place / "facts", dirs_exist_ok=True)
            asked["dataset"] = str(place / "facts")
            with pytest.raises(PolyprobeError, match=message):
                evaluate_model(output=copy, **asked)
        finally:
            shutil.rmtree(place / "facts")
            write_facts(place / "facts")
        assert file.read_bytes() == kept
        return
    with pytest.raises(PolyprobeError) as error:
        evaluate_model(output=done[0], **asked)
    assert f"{done[0]} holds another run ({message}" in str(error.value)
    assert read_files(done[0]) == before


def test_a_folder_that_is_not_a_run_is_refused(place, tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(PolyprobeError, match="is not empty and holds no run.json"):
        evaluate_model(str(place / "model"), str(place / "facts"), output=tmp_path)
    assert read_files(tmp_path).keys() == {tmp_path.joinpath("thesis.tex").relative_to(tmp_path)}


def test_a_folder_that_cannot_be_made_is_one_line(place, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PolyprobeError, match="file/run cannot be a run folder: Not a directory"):
        evaluate_model(str(place / "model"), str(place / "facts"), output=tmp_path / "file" / "run")


def test_a_file_is_not_a_run_folder(place, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PolyprobeError, match="file cannot be a run folder: Not a directory"):
        evaluate_model(str(place / "model"), str(place / "facts"), output=tmp_path / "file")
    with pytest.raises(PolyprobeError, match="file is not a run folder: it has no run.json"):
        compute_results(Run(tmp_path / "file"))


def test_a_run_killed_at_its_first_write_goes_on(place, done, tmp_path):
    (tmp_path / ".run.json.part").write_text("{")
    evaluate_model(str(place / "model"), str(place / "facts"), output=tmp_path)
    assert read_files(tmp_path) == read_files(done[0])


@pytest.mark.acceptance
def test_a_full_disk_loses_nothing_and_the_same_call_goes_on(place, done, tmp_path):
    """A limit on file size simulates a full disk: writing fails in the same way."""
    large = place / "large"
    if not large.exists():
        write_facts(large, copies=40)
    command = [
        *POLYPROBE, "eval", str(place / "model"), "--dataset", str(large),
        "--output", str(tmp_path / "run"),
    ]  # fmt: skip

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))

    full = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, check=False)
    assert full.returncode == 1
    assert "error: cannot use" in full.stderr
    line = " ".join(full.stderr.split())
    assert "are kept: make room" in line
    assert "then run the same command again" in line
    assert "Traceback" not in full.stderr
    kept = {str(name) for name in read_files(tmp_path / "run")}
    assert kept == {"run.json"}
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert len(Run(tmp_path / "run").read("zh_hans")) == 160


def test_masked_scores_pad_short_pools_at_the_end(done):
    table = Run(done[0]).read("en")
    padded = masked_scores(table)
    assert padded.shape == (8, 4)
    for row, scores in zip(padded, table["scores"].to_pylist(), strict=True):
        assert row.compressed().tolist() == scores
        assert not row.mask[: len(scores)].any()
