"""Runs of free answers: what is written, resumed, known from earlier runs, foreseen and refused."""

import pyarrow.parquet as pq
import pytest
import torch
from typer.testing import CliRunner

from polyprobe.cli import app
from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.eval.options import EvaluationOptions
from polyprobe.eval.work.score_store import ScoreStore
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import ANSWERS, Run
from polyprobe.schema.run.protocol import as_asked
from polyprobe.schema.run.rows import choose_examples
from polyprobe.scoring.scorers.part import Shots
from polyprobe.system.messages import PolyprobeError
from tests.eval.tasks import needs_ray, use_crew_here
from tests.making import tiny
from tests.making.facts import write_facts
from tests.making.runs import read_files

ASKED = {"scoring": "answer", "answer_tokens": 8, "sample": 12, "shots": 2, "cache": False}
WORDS = ["eval", "geolm", "--dataset", "geofacts", "--scoring", "answer"]


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    return folder, evaluate_model("geolm", "geofacts", output=folder, languages="en,ka", **ASKED)


def test_each_answer_is_written_with_its_prompt_and_verdict(done):
    """Answers are those of transformers; a donor's answer is that of its own row."""
    run, tables = Run(done[0]), load_facts("geofacts", None, ["en", "ka"])
    assert "|scoring:answer-8-line|" in done[1]["signature"]
    assert "|shots:2|" in done[1]["signature"]
    scorer = load_scorer("geolm")
    shots = Shots(*choose_examples(tables["en"], EvaluationOptions(), 2))
    for language, table in as_asked(tables, "answer").items():
        rows = run.read(language)
        assert rows.schema == ANSWERS
        by_fact = {row["fact_id"]: row for row in rows.to_pylist()}
        prompts = {x["fact_id"]: x["prompt"] for x in shots.put_in_front(table).to_pylist()}
        labels = tables[language].to_pylist()
        for row in by_fact.values():
            text = prompts[row["fact_id"]].replace("\x02", "").partition("[Y]")[0].rstrip()
            assert row["asked"] == text
            assert text.count("\n") == 2
            donor = by_fact.get(row["donor"])
            if donor:
                assert row["donor_answer"] == donor["answer"]
                assert row["donor_scores"] == donor["scores"]
        for row in [*by_fact.values()][::7]:
            ids = scorer.tokenizer(row["asked"], return_tensors="pt")["input_ids"]
            ids = scorer.model.generate(
                ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=8
            )[0, ids.shape[1] :]
            text = scorer.tokenizer.decode(ids, skip_special_tokens=True)
            assert row["answer"] == text.strip().partition("\n")[0].rstrip()
        for row in by_fact.values():
            gold = {x["object_id"] for x in labels if x["fact_id"] == row["fact_id"]}
            assert row["verdict"].startswith("right") == (row["entity"] in gold)
            assert sum(row["scores"]) == (row["entity"] != "")
    verdicts = {x["verdict"] for y in ("en", "ka") for x in run.read(y).to_pylist()}
    assert {"right", "another"} <= verdicts


def test_an_interrupted_run_is_resumed(done, tmp_path, monkeypatch):
    calls, add = [], ScoreStore.add

    def add_first(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        add(*arguments)

    asked = ASKED | {"output": tmp_path / "run"}
    with monkeypatch.context() as patch:
        patch.setattr(ScoreStore, "add", add_first)
        with pytest.raises(KeyboardInterrupt):
            evaluate_model("geolm", "geofacts", languages="en,ka", **asked)
    for change in ({"shots": 1}, {"answer_tokens": 9}, {"scoring": "object"}):
        kept = {x: y for x, y in asked.items() if "scoring" not in change or x != "answer_tokens"}
        with pytest.raises(PolyprobeError, match="holds another run"):
            evaluate_model("geolm", "geofacts", **kept | change)
    assert not Run(tmp_path / "run").missing(["en"])
    evaluate_model("geolm", "geofacts", languages="ka", **asked)
    assert read_files(tmp_path / "run") == read_files(done[0])


def test_known_answers_are_not_written_again(done, tmp_path, cache, monkeypatch):
    """Also those of other languages and rows, and the forecast knows them."""
    asked = ASKED | {"cache": True, "languages": "en,ka"}
    evaluate_model("geolm", "geofacts", output=tmp_path / "first", **asked)
    flags = [*WORDS, "--answer-tokens", "8", "--sample", "12", "--shots", "2", "--dry-run"]
    flags += ["--output", str(tmp_path / "no"), "--languages"]
    forecast = [CliRunner().invoke(app, [*flags, x]).output for x in ("en,ka,fr", "en,ka")]
    assert " known: " in forecast[0]
    assert " 0 known: " not in forecast[0]
    assert "nothing is left to score" in forecast[1]
    monkeypatch.setattr("polyprobe.scoring.scorers.answers.AnswerScorer.write", None)
    evaluate_model("geolm", "geofacts", output=tmp_path / "second", **asked)
    assert read_files(tmp_path / "second") == read_files(tmp_path / "first")
    for language in ("en", "ka"):
        assert rows_of(tmp_path / "second", language) == rows_of(done[0], language)
    with pytest.raises(TypeError):  # of another length nothing is known
        evaluate_model("geolm", "geofacts", **asked | {"answer_tokens": 7})


def rows_of(folder, language):
    return pq.read_table(folder / "scores" / f"{language}.parquet").to_pylist()


def test_the_forecast_counts_the_tokens_of_answers(tmp_path, cache):
    flags = ["--limit", "3", "--languages", "en", "--dry-run", "--output", str(tmp_path / "no")]
    output = " ".join(CliRunner().invoke(app, [*WORDS, *flags]).output.split())
    assert "6 queries to score" in output
    assert f"tokens, {6 * 64} or fewer in answers" in output
    assert not [*tmp_path.iterdir()]


@needs_ray
@pytest.mark.slow
@pytest.mark.acceptance
def test_workers_give_the_run_of_one_process(done, tmp_path, monkeypatch):
    use_crew_here(monkeypatch)
    words = [*WORDS, "--answer-tokens", "8", "--sample", "12", "--shots", "2", "--no-cache"]
    words += ["--languages", "en,ka", "--devices", "2", "--output", str(tmp_path / "run")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    for language in ("en", "ka"):
        assert rows_of(tmp_path / "run", language) == rows_of(done[0], language)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("bert", {}, "--scoring answer is for seq2seq and causal models"),
        ("gpt2", {"answer_tokens": 256}, "has room for .*, an answer has up to 256; lower"),
        ("gpt2", {"answer_tokens": 0}, "--answer-tokens must be 1 to 4096, got 0"),
        ("gpt2", {"scoring": "object", "answer_tokens": 9}, "--answer-tokens .*--scoring answer"),
        ("gpt2", {"prompt_probability": True}, "--prompt-probability is for"),
    ],
)
def test_refusals_are_one_line(kind, options, message, tmp_path):
    model = str(tiny.save_model(kind, tmp_path / "model"))
    facts = str(write_facts(tmp_path / "facts"))
    asked = {"scoring": "answer", "output": tmp_path / "run", "cache": False} | options
    with pytest.raises(PolyprobeError, match=message) as caught:
        evaluate_model(model, facts, **asked)
    assert "\n" not in str(caught.value)
