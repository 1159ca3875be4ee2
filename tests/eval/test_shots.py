"""Examples in front of a question: which facts they are, and scores by plain transformers."""

import pyarrow as pa
import pytest
import torch
from typer.testing import CliRunner

from polyprobe.cli import app
from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.eval.options import EvaluationOptions
from polyprobe.eval.work.score_store import ScoreStore
from polyprobe.schema.columns import SENTENCE_START, to_table
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.rows import choose_examples, choose_rows
from polyprobe.scoring.scorers.part import Shots
from polyprobe.system.messages import PolyprobeError
from tests.making.datasets import write_dataset
from tests.making.facts import rows
from tests.making.runs import read_files
from tests.scoring import plain
from tests.scoring.protocols import KINDS, PLAIN, QUERIES, score

CONTEXT = "La capitale de la France est Paris.\nСтолица Франции — Париж.\n"
OPENING = ("[Y] is the capital of France.", ["Paris", "Berlin", "the city of Paris"])
CASES = [(s, kind) for s, family in PLAIN for kind, of in KINDS.items() if of == family]


def choose_shots(table, n):
    return Shots(*choose_examples(table, EvaluationOptions(), n))


@torch.inference_mode()
def mean_behind(model, tokenizer, context, sentence, add_bos):
    """Return the mean log-probability of the tokens behind the context's."""
    front = ([tokenizer.bos_token_id] if add_bos else []) + tokenizer(context)["input_ids"]
    ids = ([tokenizer.bos_token_id] if add_bos else []) + tokenizer(context + sentence)["input_ids"]
    assert ids[: len(front)] == front
    table = torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), -1)
    places = range(len(front), len(ids))
    return sum(table[i - 1, ids[i]].item() for i in places) / len(places)


@pytest.mark.parametrize(("scoring", "kind"), [x for x in CASES if "mpararel" not in x[0]])
def test_a_context_is_read_and_not_scored(scoring, kind, scorers):
    scorer, extra = scorers(kind, scoring), {}
    if KINDS[kind] == "causal":
        extra["add_bos"] = kind == "bloom" and scoring != "contrastive"
    got = score(scorer, [(f"{CONTEXT}{SENTENCE_START}{p}", c) for p, c in QUERIES])
    for (prompt, candidates), row in zip(QUERIES, got, strict=True):
        for candidate, value in zip(candidates, row, strict=True):
            if (scoring, KINDS[kind]) == ("bmlama", "causal"):
                sentence = prompt.replace("[Y]", candidate)
                want = mean_behind(scorer.model, scorer.tokenizer, CONTEXT, sentence, **extra)
            else:
                arguments = (scorer.model, scorer.tokenizer, CONTEXT + prompt, candidate)
                want = PLAIN[scoring, KINDS[kind]](*arguments, **extra)
            assert value == pytest.approx(want, abs=1e-4)


@pytest.mark.parametrize("scoring", ["bmlama", "object", "contrastive"])
def test_a_sentence_begins_a_line_behind_its_context(scoring, scorers):
    """A candidate at its start has no blank, and the line break is the context's."""
    scorer = scorers("gpt2", scoring)
    [got] = score(scorer, [(f"{CONTEXT}{SENTENCE_START}{OPENING[0]}", OPENING[1])])
    parts = {"bmlama": OPENING[0], "object": "[Y]", "contrastive": "[Y]"}
    for candidate, value in zip(OPENING[1], got, strict=True):
        text = parts[scoring].replace("[Y]", candidate)
        if scoring == "contrastive":
            text = scorer.tokenizer.decode(scorer.tokenizer(text)["input_ids"][:1])
        n = len(scorer.tokenizer(text)["input_ids"]) if scoring == "object" else 1
        want = mean_behind(scorer.model, scorer.tokenizer, CONTEXT, text, add_bos=False)
        assert value == pytest.approx(n * want, abs=1e-4)


def test_letters_read_the_context_once_in_front_of_the_question(scorers):
    scorer = scorers("gpt2", "letters")
    prompt, candidates = QUERIES[0]
    [got] = score(scorer, [(CONTEXT + SENTENCE_START + prompt, candidates)])
    orders = range(len(candidates))
    arguments = (plain.causal_contrastive, scorer.model, scorer.tokenizer, CONTEXT + prompt)
    table = plain.letters(*arguments, candidates, orders)
    means = [sum(column) / len(column) for column in zip(*table, strict=True)]
    assert got == pytest.approx(means, abs=1e-4)


def test_examples_are_the_same_facts_in_every_language():
    """They vary in answer, and small samples keep their facts."""
    tables = load_facts("geofacts", None, ["en", "ka"])
    apart = [choose_shots(table, 3) for table in tables.values()]
    assert apart[0] == apart[1]
    shots, table = apart[0], tables["en"]
    columns = {x: table[x].to_pylist() for x in ("fact_id", "relation", "object_id", "subject_id")}
    left = sorted({*range(len(table))} - {*shots.rows})
    assert len(left) == 12 == len({place for row in shots.examples for place in row})
    for row, examples in zip(shots.rows, shots.examples, strict=True):
        assert not {row} & {*left}
        assert {columns["relation"][x] for x in examples} == {columns["relation"][row]}
        assert len({columns["object_id"][x] for x in examples}) == 3
    whole, rest = choose_rows(table, sample=60), choose_rows(shots.put_in_front(table), sample=60)
    kept = {columns["fact_id"][x] for x in whole} & {
        columns["fact_id"][shots.rows[x]] for x in rest
    }
    assert len(kept) >= 57
    prompt = shots.put_in_front(tables["ka"])["prompt"][0].as_py()
    assert prompt.split("\n") == [
        "ქვეყანა: კამერუნი. კონტინენტი: აფრიკა.",
        "ქვეყანა: მარშალის კუნძულები. კონტინენტი: ოკეანეთი.",
        "ქვეყანა: პორტუგალია. კონტინენტი: ევროპა.",
        f"{SENTENCE_START}ქვეყანა: ანდორა. კონტინენტი: [Y].",
    ]


def test_an_example_in_letters_has_the_letter_of_its_option():
    tables = load_facts("geofacts", None, ["en"])
    shots = choose_shots(tables["en"], 3)
    prompt = shots.put_in_front(tables["en"], letters=True)["prompt"][0].as_py()
    *examples, question = prompt.split("\n\n")
    assert question == f"{SENTENCE_START}Country: Andorra. Continent: [Y]."
    options = "A. Europe\nB. Asia\nC. South America\nD. North America\nE. Oceania\nF. Africa"
    assert examples[0] == f"Country: Cameroon. Continent: ___.\n{options}\nAnswer: F"
    assert len({example[-1] for example in examples}) > 1


def facts_of_templates(language):
    """Return eight facts of seven subjects in two templates; the subject C0 has two facts."""
    made = []
    for k, template in ((k, t) for k in range(8) for t in "ab"):
        name = f"{language}{template}: C{k % 7} is in [Y]."
        row = rows("en")[0]._replace(fact_id=f"P1:C{k % 7}:{k}", subject_id=f"C{k % 7}")
        made.append(row._replace(relation="P1", template_id=template, prompt=name))
    return to_table(made)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_an_example_has_the_wording_of_the_template(n):
    tables = {x: facts_of_templates(x) for x in ("en", "fr")}
    shots = choose_shots(tables["en"], n)
    for language, table in tables.items():
        asked = shots.put_in_front(table)
        subjects = set()
        for prompt, subject in zip(
            *(asked[x].to_pylist() for x in ("prompt", "subject_id")), strict=True
        ):
            *examples, question = prompt.split("\n")
            start = question.removeprefix(SENTENCE_START).partition(":")[0]
            assert [x.partition(":")[0] for x in examples] == [start] * n
            assert start[:2] == language
            subjects.add(subject)
            assert subject not in "".join(examples)
        assert len(subjects) == 7 - n


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"shots": 6},
            "--shots 6 needs 8 subjects of each relation; P1 has 7: use fewer, or leave",
        ),
        (
            {"shots": 1, "scoring": "pll"},
            "--shots is for --scoring bmlama, object, contrastive and",
        ),
        ({"shots": 1, "scoring": "xfactr"}, "--shots is for --scoring bmlama, object, contrastive"),
    ],
)
def test_refusals(options, message, tmp_path):
    tables = {"en": facts_of_templates("en")}
    folder = write_dataset(tmp_path / "facts", {"default": tables}, default="default")
    with pytest.raises(PolyprobeError) as error:
        evaluate_model("geolm", str(folder), output=tmp_path / "run", **options)
    assert str(error.value).startswith(message)


def test_rows_with_own_prompts_are_refused():
    table = facts_of_templates("en")
    prompts = pa.array([[f"{k}: [Y]" for k in row] for row in table["candidates"].to_pylist()])
    with pytest.raises(PolyprobeError, match="--shots needs one prompt for all candidates"):
        choose_shots(table, 1).put_in_front(table.append_column("prompts", prompts))


ASKED = {"sample": 40, "shots": 2, "scoring": "bmlama"}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    return folder, evaluate_model("geolm", "geofacts", output=folder, languages="en,ka", **ASKED)


def test_a_run_scores_other_facts_behind_the_examples(done):
    """Its scores are those of plain transformers, also about the donor."""
    run, tables = Run(done[0]), load_facts("geofacts", None, ["en", "ka"])
    shots = choose_shots(tables["en"], 2)
    assert run.settings().left_out == {"examples": 8}
    assert "|shots:2|" in done[1]["signature"]
    scorer = load_scorer("geolm")
    for language, table in tables.items():
        asked = {row["fact_id"]: row for row in shots.put_in_front(table).to_pylist()}
        scored = run.read(language).to_pylist()
        assert {row["donor"] for row in scored} | {row["fact_id"] for row in scored} <= {*asked}
        for row in scored[::13]:
            for prompt, scores in ((row["fact_id"], "scores"), (row["donor"], "donor_scores")):
                context, _, sentence = asked[prompt]["prompt"].partition(SENTENCE_START)
                assert context.count("\n") == 2
                for candidate, value in zip(
                    asked[row["fact_id"]]["candidates"], row[scores], strict=True
                ):
                    text = sentence.replace("[Y]", candidate)
                    want = mean_behind(scorer.model, scorer.tokenizer, context, text, add_bos=False)
                    assert value == pytest.approx(want, abs=1e-4)


def test_an_interrupted_run_is_resumed_with_the_same_examples(done, tmp_path, monkeypatch):
    calls, add = [], ScoreStore.add

    def add_first(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        add(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(ScoreStore, "add", add_first)
        with pytest.raises(KeyboardInterrupt):
            evaluate_model("geolm", "geofacts", output=tmp_path / "run", languages="en,ka", **ASKED)
    for shots in (0, 1):
        with pytest.raises(PolyprobeError, match="holds another run"):
            evaluate_model("geolm", "geofacts", output=tmp_path / "run", **ASKED | {"shots": shots})
    assert not Run(tmp_path / "run").missing(["en"])
    evaluate_model("geolm", "geofacts", output=tmp_path / "run", languages="ka", **ASKED)
    assert read_files(tmp_path / "run") == read_files(done[0])
    assert len(calls) == 2


def test_it_is_compared_with_a_run_without_examples(done, tmp_path):
    asked = {"output": tmp_path / "run", "languages": "en,ka", "scoring": "bmlama", "sample": 40}
    bare = evaluate_model("geolm", "geofacts", **asked)
    assert "shots" not in bare["signature"]
    words = ["compare", str(tmp_path / "run"), str(done[0]), "--resamples", "0"]
    output = CliRunner().invoke(app, words).output
    assert "shots – / 2" in " ".join(output.split())
    assert "40 rows, 2 languages" in output
