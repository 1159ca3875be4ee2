"""Rewards against the metrics row by row, preferences against the files, both in TRL's trainers."""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from polyprobe.metrics.accuracy_at_1.formulas import right_probability
from polyprobe.metrics.answer_agreement.formulas import agreement_per_query
from polyprobe.metrics.answer_match.formulas import match_answers
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import Run
from polyprobe.system.messages import PolyprobeError
from polyprobe.training.reward import Rewards
from tests.hub.client import NOWHERE, run_process
from tests.making.facts import write_facts
from tests.making.predictions import write_predictions
from tests.making.runs import PICKS, SCORES, write_run

LANGUAGES = ["en", "es", "el"]


@pytest.fixture
def small(tmp_path):
    """Eight facts in en, ru, zh_hans, with two and four candidates; ties in ru and zh_hans."""
    return write_run(tmp_path / "run", write_facts(tmp_path / "facts"), SCORES)


@pytest.fixture(scope="module")
def geolm(tmp_path_factory):
    """A run of geolm: it knows en and es, and guesses in el."""
    from polyprobe.eval import evaluate_model

    folder = tmp_path_factory.mktemp("reward") / "run"
    options = {"languages": LANGUAGES, "sample": 40, "donor": False, "cache": False}
    evaluate_model("geolm", "geofacts", output=folder, **options)
    return folder


@pytest.mark.parametrize("source", SCORES)
@pytest.mark.parametrize("language", SCORES)
def test_each_reward_is_that_of_the_metric_in_that_row(small, source, language):
    """A completion is a choice: scores of 1 for it and 0 for the others."""
    rewards, facts = Rewards(small.folder, source), load_facts(small.settings().dataset)[language]
    columns = {"fact_id": facts["fact_id"].to_pylist(), "language": [language] * len(facts)}
    answers, labels = facts["answers"].to_pylist(), facts["candidates"].to_pylist()
    values = Counter()
    for place in range(4):
        picks = [place % len(row) for row in labels]
        texts = [f" {row[pick]}." for row, pick in zip(labels, picks, strict=True)]
        choices = [[float(k == pick) for k in range(len(row))]
                   for row, pick in zip(labels, picks, strict=True)]  # fmt: skip
        agreement = agreement_per_query({source: SCORES[source], "choice": choices})[:, 0].tolist()
        assert rewards.consistency(prompts=[], completions=texts, **columns) == agreement
        right = right_probability(choices, answers).tolist()
        assert rewards.right(prompts=[], completions=texts, **columns) == right
        values.update(agreement + right)
    assert {*values} == ({0, 1} if source == "en" else {0, 0.5, 1})


def test_the_model_s_own_answers_have_the_figures_of_the_run(geolm):
    rewards, results = Rewards(geolm), Run(geolm).read_results()
    tables = load_facts("geofacts", None, LANGUAGES)
    for language in ("es", "el"):
        scores = pq.read_table(geolm / "scores" / f"{language}.parquet").to_pylist()
        labels = dict(zip(*(tables[language][x].to_pylist() for x in ("fact_id", "candidates")),
                          strict=True))  # fmt: skip
        texts = [labels[row["fact_id"]][int(np.argmax(row["scores"]))] for row in scores]
        columns = {"fact_id": [row["fact_id"] for row in scores], "language": [language] * 40}
        consistency = rewards.consistency(prompts=[], completions=texts, **columns)
        assert np.mean(consistency) == pytest.approx(results["agreement"][f"en-{language}"])
        right = rewards.right(prompts=[], completions=texts, **columns)
        assert np.mean(right) == pytest.approx(results["accuracy"][language])
    assert 0 < np.mean(consistency) < 1


TEXTS = ["Paris", "  It is Paris, of course.", "Berlin. Paris", "Paris, Berlin, Rome, Moscow",
         "I do not know", "", "Not Berlin but Paris", "PARIS"]  # fmt: skip


def test_free_completions_are_read_as_answer_match_reads_them(small):
    facts = load_facts(small.settings().dataset)["en"].slice(0, 1).to_pylist()[0]
    pool = {name: {"en": [name]} for name in facts["candidates"]}
    columns = {"fact_id": [facts["fact_id"]] * len(TEXTS), "language": ["en"] * len(TEXTS)}
    rewards = Rewards(small.folder)
    right = rewards.right(prompts=[], completions=TEXTS, **columns)
    question = [facts["prompt"].replace("[Y]", "")] * len(TEXTS)
    matched = match_answers(TEXTS, ["Paris"] * len(TEXTS), "en", names=pool, questions=question,
                            n_resamples=0)  # fmt: skip
    assert right == [float(x["kind"].startswith("right")) for x in matched["verdicts"]]
    assert right == [1, 1, 0, 0, 0, 0, 1, 1]
    messages = [[{"role": "assistant", "content": text}] for text in TEXTS]
    assert rewards.right(prompts=[], completions=messages, **columns) == right


def test_preferences_are_the_rows_where_a_language_differs(geolm):
    tables = load_facts("geofacts", None, LANGUAGES)
    rows = {x: {row["fact_id"]: row for row in y.to_pylist()} for x, y in tables.items()}
    best = {
        x: {row["fact_id"]: int(np.argmax(row["scores"]))
            for row in pq.read_table(geolm / "scores" / f"{x}.parquet").to_pylist()}
        for x in LANGUAGES
    }  # fmt: skip
    expected = []
    for language in ("es", "el"):
        for fact, top in best["en"].items():
            if best[language][fact] != top:
                row = rows[language][fact]
                start, end = row["prompt"].split("[Y]")
                texts = (f" {row['candidates'][k]}{end}" for k in (top, best[language][fact]))
                expected.append((language, fact, start.rstrip(" "), *texts))
    pairs = Rewards(geolm).list_preferences()
    names = ("language", "fact_id", "prompt", "chosen", "rejected")
    assert [tuple(pair[name] for name in names) for pair in pairs] == expected
    assert {pair["language"] for pair in pairs} == {"el"}


def test_a_tie_is_no_preference(small):
    """PICKS: ru differs from en in facts 3 and 4, and is tied in 5."""
    pairs = Rewards(small.folder).list_preferences(["ru"])
    assert [pair["fact_id"] for pair in pairs] == ["P36:C3:3", "P36:C0:4"]
    prompts = Rewards(small.folder).list_prompts(["ru"])
    assert [row["prompt"] for row in prompts][3] == "Россия: столица —"
    assert len(prompts) == 8


def test_templates_of_a_fact_have_answers_of_their_own(tmp_path):
    def double(language, rows):
        return [rows[n // 2 * 2]._replace(prompt=row.prompt) for n, row in enumerate(rows)]

    run = write_run(tmp_path / "run", write_facts(tmp_path / "facts", double), SCORES)
    rewards = Rewards(run.folder)
    prompts = rewards.list_prompts(["en"])
    assert [row["template"] for row in prompts] == [0, 1] * 4
    columns = {name: [row[name] for row in prompts] for name in prompts[0]}
    labels = load_facts(run.settings().dataset)["en"]["candidates"].to_pylist()
    texts = [row[pick] for row, pick in zip(labels, PICKS["en"], strict=True)]
    columns["completions"] = texts
    columns["prompts"] = columns.pop("prompt")
    assert rewards.consistency(**columns) == [1] * 8
    assert rewards.consistency(**{**columns, "template": [1, 0] * 4}) == [0] * 8
    firsts = {**columns, "template": None}  # the first template of each
    assert rewards.consistency(**firsts) == [1, 0] * 4


def test_rows_without_text_in_front_of_the_slot_are_counted(tmp_path, capsys):
    def turn(language, rows):
        return [rows[0]._replace(prompt="[Y]: capital."), *rows[1:]]

    run = write_run(tmp_path / "run", write_facts(tmp_path / "facts", turn), SCORES)
    assert len(Rewards(run.folder).list_prompts(["en", "ru"])) == 14
    text = "2 rows left out: they have nothing in front of the slot"
    assert text in capsys.readouterr().err


def test_bad_input_is_refused(small, tmp_path):
    with pytest.raises(PolyprobeError, match="fr"):
        Rewards(small.folder, source="fr")
    rewards = Rewards(small.folder)
    message = (
        r"template 0 of fact 'P1:Q1:Q2' in 'en' is not in the run; use the rows of list_prompts"
    )
    with pytest.raises(PolyprobeError, match=message):
        rewards.right([], ["Paris"], fact_id=["P1:Q1:Q2"], language=["en"])
    with pytest.raises(PolyprobeError, match="is not in the run"):
        rewards.consistency([], ["Paris"], fact_id=["P36:C0:0"], language=["fr"])
    with pytest.raises(PolyprobeError, match="is not a run folder"):
        Rewards(tmp_path / "nothing")
    write_predictions(tmp_path / "free", {"en": ["gold"] * 6})
    with pytest.raises(PolyprobeError, match="free predictions; rewards need scored candidates"):
        Rewards(tmp_path / "free")


@pytest.mark.parametrize("name", ["fact_id", "language"])
def test_a_batch_without_a_column_is_refused(small, name):
    rewards = Rewards(small.folder)
    row = {k: [v] for k, v in rewards.list_prompts()[0].items() if k != name}
    with pytest.raises(PolyprobeError, match=f"cannot read the batch .*{name}"):
        rewards.right(row.pop("prompt"), ["x"], **row)


@pytest.mark.parametrize("completions", [[], [None], [[]], [[{"role": "assistant"}]], ["x", "y"]])
def test_a_batch_that_is_no_text_is_refused(small, completions):
    rewards = Rewards(small.folder)
    row = {k: [v] for k, v in rewards.list_prompts()[0].items()}
    with pytest.raises(PolyprobeError, match="cannot read the batch"):
        rewards.right(row.pop("prompt"), completions, **row)


def test_a_message_without_text_names_no_candidate(small):
    rewards = Rewards(small.folder)
    row = {k: [v] for k, v in rewards.list_prompts()[0].items()}
    message = {"role": "assistant", "content": None}
    assert rewards.right(row.pop("prompt"), [[message]], **row) == [0.0]


def train(trainer_class, args_class, folder, rows, **options):
    """Train geolm on the processor with one of TRL's trainers; return it."""
    import trl
    from datasets import Dataset

    from polyprobe.eval import load_scorer

    scorer = load_scorer("geolm")
    scorer.tokenizer.pad_token = scorer.tokenizer.pad_token or scorer.tokenizer.eos_token
    common = {"use_cpu": True, "bf16": False, "report_to": [], "save_strategy": "no", "seed": 0}
    arguments = getattr(trl, args_class)(str(folder), **common, **options.pop("arguments"))
    trainer = getattr(trl, trainer_class)(
        scorer.model, args=arguments, train_dataset=Dataset.from_list(rows),
        processing_class=scorer.tokenizer, **options,
    )  # fmt: skip
    trainer.train()
    return trainer


@pytest.mark.acceptance
def test_grpo_calls_the_reward(geolm, tmp_path):
    rewards, calls = Rewards(geolm), []

    def consistency(prompts, completions, **columns):
        values = rewards.consistency(prompts, completions, **columns)
        calls.append((completions, columns["fact_id"], values))
        return values

    arguments = {"max_steps": 2, "per_device_train_batch_size": 8, "num_generations": 4,
                 "max_completion_length": 6, "logging_steps": 1}  # fmt: skip
    trainer = train("GRPOTrainer", "GRPOConfig", tmp_path, rewards.list_prompts(["es"]),
                    reward_funcs=[consistency, rewards.right], arguments=arguments)  # fmt: skip
    means = [row["rewards/consistency/mean"] for row in trainer.state.log_history[:2]]
    assert means == pytest.approx([np.mean(values) for *_, values in calls])
    assert sum(means) > 0  # geolm knows Spanish
    assert {len(completions) for completions, *_ in calls} == {8}


def measure_margin(trainer, pairs):
    """Compute the mean margin of chosen over rejected, and how often it is above 0.

    Scores are those of the run: mean log-probabilities of the tokens of the sentence.
    """
    import torch

    model, tokenizer = trainer.model.eval(), trainer.processing_class
    margins = []
    for pair in pairs:
        totals = []
        for name in ("chosen", "rejected"):
            ids = tokenizer(pair["prompt"] + pair[name], return_tensors="pt")["input_ids"]
            with torch.inference_mode():
                totals.append(-model(ids, labels=ids).loss.item())
        margins.append(totals[0] - totals[1])
    return np.mean(margins), np.mean(np.array(margins) > 0)


@pytest.mark.acceptance
def test_dpo_moves_the_model_towards_the_preferences(geolm, tmp_path):
    """Two steps raise the margin and the share of chosen answers; swapped pairs lower it."""
    pairs = Rewards(geolm).list_preferences(["el"])
    swapped = [{**x, "chosen": x["rejected"], "rejected": x["chosen"]} for x in pairs]

    def learn(rows, learning_rate):
        arguments = {"max_steps": 2, "per_device_train_batch_size": 8,
                     "learning_rate": learning_rate}  # fmt: skip
        trainer = train("DPOTrainer", "DPOConfig", tmp_path, rows, arguments=arguments)
        return measure_margin(trainer, pairs)

    (before, right), (after, more), (below, _) = (
        learn(pairs, 0),
        learn(pairs, 1e-3),
        learn(swapped, 1e-3),
    )
    assert below < before < after
    assert right == 0 < more  # rejected were the model's answers
    print(before, right, after, more, below)


@pytest.mark.acceptance
@pytest.mark.parametrize("method", ["dpo", "grpo"])
def test_the_example_prints_figures_before_and_after(method, tmp_path):
    script = Path(__file__).parents[2] / "docs" / "examples" / "rewards.py"
    command = [sys.executable, str(script), method, "--steps", "1"]
    done = run_process(command, tmp_path / "home", NOWHERE, tmp_path, offline=True)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    figures = [row[:2] for row in lines if row[:1] in (["before"], ["after"])]
    assert figures == [[x, y] for x in ("before", "after") for y in ("el", "es")]
