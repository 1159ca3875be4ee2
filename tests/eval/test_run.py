"""The run on disk: resumed bit for bit, recomputed without the model, never mixed up."""

import json
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from polyprobe.analysis.figures.compute import compute_results
from polyprobe.cli import app
from polyprobe.eval import evaluate_model
from polyprobe.schema.run.folder import SCORES, Run
from polyprobe.scoring.load import load_scorer
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny
from tests.making.facts import CITIES, rows, write_facts
from tests.making.runs import read_files, reseal


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
    assert table.schema.remove_metadata() == SCORES
    assert table["fact_id"].to_pylist() == [row.fact_id for row in rows("ru")]


def test_scores_are_the_scorer_s_own(place, done):
    scorer = load_scorer(str(place / "model"))
    for language in CITIES:
        made = rows(language)
        want = scorer.score([row.prompt for row in made], [row.candidates for row in made])
        got = Run(done[0]).read(language)["scores"].to_pylist()
        assert got == [[np.float32(x) for x in row] for row in want]


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
    ],
)
def test_the_folder_of_another_run_is_refused(change, message, place, done, tmp_path):
    before = read_files(done[0])
    options = {"model": str(place / "model"), "dataset": str(place / "facts"), **change}
    if "model" in change:
        options["model"] = str(tiny.save_model("llama", tmp_path / "other"))
    with pytest.raises(PolyprobeError) as error:
        evaluate_model(output=done[0], **options)
    assert f"{done[0]} holds another run ({message}" in str(error.value)
    assert read_files(done[0]) == before


def test_a_run_on_rows_that_have_changed_is_refused(place, tmp_path):
    facts, options = write_facts(tmp_path / "facts"), {"limit": 1, "output": tmp_path / "run"}
    evaluate_model(place / "model", facts, **options)
    write_facts(tmp_path / "facts", lambda _, made: made[1:] + made[:1])
    with pytest.raises(PolyprobeError, match="scored on other data: the split 'en' has changed"):
        evaluate_model(place / "model", facts, **options)


@pytest.mark.parametrize("definition", [None, 1, 3])
def test_a_run_of_another_definition_is_refused_in_one_line(definition, place, done, tmp_path):
    """Runs of the earlier headline have no number; nothing of such a folder is changed."""
    run, other = (shutil.copytree(done[0], tmp_path / x) for x in ("run", "other"))
    reseal(run, ("definition",))
    if definition:
        reseal(run, definition=definition)
    before = read_files(run)
    with pytest.raises(PolyprobeError, match=f"{run} has figures of definition {definition or 1}"):
        evaluate_model(str(place / "model"), str(place / "facts"), output=run)
    page = tmp_path / "page.html"
    for words in (
        ["metrics", run],
        ["compare", run, other],
        ["report", other, run, "--output", page],
        ["board", run, other, "--output", tmp_path / "board"],
        ["export", run, "--format", "csv"],
    ):
        result = CliRunner().invoke(app, [*map(str, words)])
        assert isinstance(result.exception, PolyprobeError), words
        message = str(result.exception)
        assert message == (
            f"{run} has figures of definition {definition or 1}, which cannot be compared with "
            "those of 2 (centred RankC); evaluate into another --output; scores are cached"
        )
    assert read_files(run) == before
    assert {x.name for x in tmp_path.iterdir()} == {"run", "other"}


def test_a_folder_that_is_not_a_run_is_refused(place, tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(PolyprobeError, match="is not empty and holds no run.json"):
        evaluate_model(str(place / "model"), str(place / "facts"), output=tmp_path)
    assert read_files(tmp_path).keys() == {tmp_path.joinpath("thesis.tex").relative_to(tmp_path)}


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
