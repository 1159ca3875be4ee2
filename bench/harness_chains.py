"""Chains of single protocol steps from polyprobe's protocols to the metrics of the harnesses."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from polyprobe.eval import evaluate_model
from polyprobe.publish.harness import export_dataset
from polyprobe.schema.run.folder import Run, read_run_tables

from .harness_peers import Answers, run_lighteval, run_lm_eval
from .harness_replay import Lists, cut_apart, cut_together, replay

RUNS = {"lm-eval": run_lm_eval, "lighteval": run_lighteval}
CUTS = {"lm-eval": cut_together, "lighteval": cut_apart}


class Case(NamedTuple):
    """A model and a dataset; `adds_bos` is whether the model's tokenizer adds BOS itself."""

    title: str
    model: Path
    dataset: Path
    languages: list[str]
    adds_bos: bool


class Step(NamedTuple):
    """A protocol's scores of the candidates; higher is more likely."""

    name: str
    scores: Lists


class Chain(NamedTuple):
    """The steps from polyprobe's protocol to a harness's metric.

    Attributes:
        steps: polyprobe's own protocol, then the others.
        said: the harness and its metric.
        credit: the harness's credit of each row, by language.
        apart: the largest difference in nats between the log-probabilities of the last step and
            those of the harness.
    """

    steps: list[Step]
    said: str
    credit: dict[str, np.ndarray]
    apart: float


def follow_sentences(case: Case, work: Path) -> list[Chain]:
    """Return the chains from equation 10 to the metrics on whole sentences."""
    auto, counts = ask(case, work, "bmlama", "auto")
    start = [Step("polyprobe bmlama", auto)]
    answers = run(case, work, "bmlama", "lm-eval")
    behind = start
    if not case.adds_bos:
        auto, counts = ask(case, work, "bmlama", "always")
        behind = [*start, Step("BOS before all", auto)]
    sums = combine(auto, counts, lambda mean, n: mean * n)
    letters = {x: [[float(len(c)) for c in row.choices] for row in answers[x]] for x in answers}
    apart = measure(sums, answers)
    theirs = run(case, work, "bmlama", "lighteval", "" if case.adds_bos else "_no_bos")
    replayed, n_tokens = replay(case.model, theirs, cut_apart)
    means = combine(replayed, n_tokens, lambda total, n: total / n)
    word = Step("the same mean" if case.adds_bos else "first word not scored", means)
    return [
        finish([*behind, Step("sum over tokens", sums)], "lm-eval acc", answers, apart),
        finish(
            [*behind, Step("by code points", combine(sums, letters, lambda s, n: s / n))],
            "lm-eval acc_norm",
            answers,
            apart,
        ),
        finish([*start, word], "lighteval acc_tokens", theirs, measure(replayed, theirs)),
    ]


def follow_objects(case: Case, work: Path) -> list[Chain]:
    """Return the chains from the object's own score to the metrics on the text after the prompt."""
    ours, _ = ask(case, work, "object", "auto")
    chains = []
    for harness, cut in CUTS.items():
        answers = run(case, work, "object", harness)
        replayed, _ = replay(case.model, answers, cut)
        steps = [Step("polyprobe object", ours), Step("boundary", replayed)]
        chains.append(finish(steps, f"{harness} object acc", answers, measure(replayed, answers)))
    return chains


def ask(case: Case, work: Path, scoring: str, bos: str) -> tuple[Lists, Lists]:
    """Return polyprobe's scores, and the number of tokens of each score."""
    output = work / f"{case.model.name}-{scoring}-{bos}"
    evaluate_model(
        str(case.model),
        str(case.dataset),
        output=output,
        languages=case.languages,
        scoring=scoring,
        bos=bos,
        device="cpu",
        cache=False,
    )
    tables = read_run_tables(Run(output))
    return tuple(
        {x: tables[x][name].to_pylist() for x in tables} for name in ("scores", "n_tokens")
    )


def run(case: Case, work: Path, scoring: str, harness: str, suffix: str = "") -> Answers:
    """Export the dataset and return the harness's answers to the tasks."""
    tasks = work / f"{case.model.name}-{scoring}-{harness}"
    files = export_dataset(case.dataset, harness, tasks, languages=case.languages, scoring=scoring)
    return RUNS[harness](tasks, files[0].stem + suffix, case.model, case.languages)


def finish(steps: list[Step], said: str, answers: Answers, apart: float) -> Chain:
    """Return the chain with the harness's credit; the last word of `said` is the metric."""
    metric = said.split()[-1]
    credit = {x: np.array([row.credit[metric] for row in rows]) for x, rows in answers.items()}
    return Chain(steps, said, credit, apart)


def combine(first: Lists, second: Lists, how: Callable[[float, float], float]) -> Lists:
    """Return `how` of the values at each position."""
    return {
        x: [
            [how(*pair) for pair in zip(*rows, strict=True)]
            for rows in zip(first[x], second[x], strict=True)
        ]
        for x in first
    }


def measure(sums: Lists, answers: Answers) -> float:
    """Return the largest difference in nats between our sums and the harness's."""
    theirs = {x: [row.sums for row in rows] for x, rows in answers.items()}
    apart = combine(sums, theirs, lambda ours, other: abs(ours - other))
    return max(value for rows in apart.values() for row in rows for value in row)
