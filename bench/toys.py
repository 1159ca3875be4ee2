"""Measure what every figure of a run says about toy models whose knowledge is known.

    python -m bench toys [BMLAMA]        writes bench/toys.md

The models score real rows, in their own sentence and in that of a donor as `polyprobe eval` chooses
it, and the figures are those of results.json. BMLAMA is the folder of a built dataset
(`polyprobe build bmlama`); without it the second table is left out.
"""

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from polyprobe.analysis.figures.compute import summarize_facts
from polyprobe.analysis.figures.facts import ScoredFacts
from polyprobe.analysis.figures.units import Units
from polyprobe.eval.donors import deal_donors
from polyprobe.eval.questions import annotate
from polyprobe.schema.identity import fingerprint, name_candidates, name_subjects
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import SCORES

LANGUAGES = ["en", "es", "fr", "de", "ru", "el", "ar", "hi", "zh", "ja"]
OF_BMLAMA = ["en", "fr", "es", "ru", "zh", "ja"]
SEEDS = 20
SURE = 100.0  # more than any other score
Values = Mapping[str, float | None]


class Questions(NamedTuple):
    """The rows of a dataset by language, and what a model may know of them, flat by candidate.

    Attributes:
        tables: rows with the columns of `donors.annotate`.
        sizes: number of candidates of each row.
        entities: number of each candidate's entity.
        right: whether a candidate is correct; in a donor's sentence none is.
        frequency: how often a candidate is the answer of the relation.
        lengths: number of characters of a candidate, by language.
    """

    tables: dict[str, pa.Table]
    sizes: np.ndarray
    entities: np.ndarray
    right: np.ndarray
    frequency: np.ndarray
    lengths: dict[str, np.ndarray]


class Asked(NamedTuple):
    """One sentence of every row in one language.

    Attributes:
        questions: the dataset.
        language: its place in the list of languages.
        right: whether a candidate is correct in this sentence.
        alike: random numbers of this seed that all languages share; equal in both sentences.
        shared: the same, others in the donors' sentences.
        own: random numbers of this language and these sentences.
    """

    questions: Questions
    language: int
    right: np.ndarray
    alike: np.random.Generator
    shared: np.random.Generator
    own: np.random.Generator

    def rank_entities(self) -> np.ndarray:
        """Return a number for each candidate that depends on its entity alone."""
        entities = self.questions.entities
        return self.alike.normal(size=entities.max() + 1)[entities]

    def draw(self) -> np.ndarray:
        """Return random scores of this language and these sentences."""
        return self.own.normal(size=len(self.right))


def order_with_noise(asked: Asked) -> np.ndarray:
    """Return the shared order of the entities plus as much noise, the same for every subject."""
    common = asked.rank_entities()
    noise = [asked.rank_entities() for _ in range(asked.language + 1)]
    return common + noise[-1]


def know_half(asked: Asked) -> np.ndarray:
    """Return the same half of the facts right in every language; the rest random."""
    sizes = asked.questions.sizes
    known = np.repeat(asked.alike.random(len(sizes)) < 0.5, sizes)
    return asked.draw() + SURE * (asked.right & known)


def err_alike(asked: Asked) -> np.ndarray:
    """Return an order for each subject, the same in every language, the right answer last."""
    return asked.shared.normal(size=len(asked.right)) - SURE * asked.right


MODELS: dict[str, Callable[[Asked], np.ndarray]] = {
    "constant": lambda asked: np.zeros(len(asked.right)),
    "random": lambda asked: asked.draw(),
    "shortest name first": lambda asked: -[*asked.questions.lengths.values()][asked.language],
    "popularity": lambda asked: asked.questions.frequency,
    "one order": lambda asked: asked.rank_entities(),
    "one order and noise": order_with_noise,
    "knows half, rest random": know_half,
    "knows all in one language": lambda asked: (
        asked.draw() + SURE * asked.right * (asked.language == 0)
    ),
    "knows all, rest random": lambda asked: asked.draw() + SURE * asked.right,
    "knows all, rest in one order": lambda asked: asked.rank_entities() + SURE * asked.right,
    "always wrong alike": err_alike,
}
BLIND = [*MODELS][:6]  # models that do not read the subject
COLUMNS: dict[str, Callable[[Mapping[str, Any]], float | None]] = {
    "accuracy": lambda results: results["mean"]["accuracy"],
    "donor": lambda results: results["mean"]["accuracy_donor"],
    "gain": lambda results: results["mean"]["accuracy_gain"],
    "corrected": lambda results: results["mean"]["rankc_subject"],
    "R − P": lambda results: results["mean"]["rankc_difference"],
    "P": lambda results: results["mean"]["rankc_donor"],
    "RankC": lambda results: results["mean"]["rankc"],
    "adjusted": lambda results: results["mean"]["rankc_adjusted"],
    "COverlap": lambda results: results["mean"]["coverlap"],
    "independent": lambda results: results["floors"].get("independence", {}).get("coverlap"),
    "agreement": lambda results: results["mean"]["agreement"],
    "κ": lambda results: results["kappa"],
    "τ-b": lambda results: results["mean"]["kendall_tau_b"],
}
OF_ALL = ("frequency", "length", "tokens")  # floors that are the same for every model


def read_questions(dataset: str, config: str | None, languages: Sequence[str]) -> Questions:
    """Return the rows of a dataset with their donors."""
    tables = load_facts(dataset, config, languages)
    first = next(iter(tables.values()))
    tables = annotate(tables, deal_donors(first))
    names, answers = name_candidates(first), first["answers"].to_pylist()
    relations, subjects = first["relation"].to_pylist(), name_subjects(first)
    facts = {
        (relation, subject, row[k])
        for relation, subject, row, right in zip(relations, subjects, names, answers, strict=True)
        for k in right
    }
    counts = Counter((relation, entity) for relation, _, entity in facts)
    rows = [*zip(relations, names, answers, strict=True)]
    numbers: dict[str, int] = {}
    return Questions(
        tables,
        np.array([len(row) for row in names]),
        np.array([numbers.setdefault(name, len(numbers)) for row in names for name in row]),
        np.array([k in right for _, row, right in rows for k in range(len(row))]),
        np.array([float(counts[relation, name]) for relation, row, _ in rows for name in row]),
        {x: t["n_characters"].combine_chunks().flatten().to_numpy() for x, t in tables.items()},
    )


def score(questions: Questions, model: str, seed: int) -> ScoredFacts:
    """Return a toy model's scores of all rows, as a run has them."""
    tables = {}
    for place, (language, table) in enumerate(questions.tables.items()):
        flat = []
        for sentence, right in enumerate((questions.right, np.zeros_like(questions.right))):
            asked = Asked(
                questions,
                place,
                right,
                np.random.default_rng([seed, 0]),
                np.random.default_rng([seed, 1, sentence]),
                np.random.default_rng([seed, 2, sentence, place]),
            )
            flat.append(MODELS[model](asked))
        tables[language] = _as_run(table, questions.sizes, *flat)
    return ScoredFacts(tables)


def _as_run(table: pa.Table, sizes: np.ndarray, own: np.ndarray, donor: np.ndarray) -> pa.Table:
    """Return a language's file of a run; a byte of a candidate counts as a token."""
    cuts = np.cumsum(sizes)[:-1]
    rows, others = ([part.tolist() for part in np.split(x, cuts)] for x in (own, donor))
    columns = {name: table[name].to_pylist() for name in SCORES.names if name in table.column_names}
    columns |= {
        "scores": rows,
        "n_tokens": [[len(x.encode()) for x in row] for row in table["candidates"].to_pylist()],
        "donor_scores": [
            row if name else None for row, name in zip(others, columns["donor"], strict=True)
        ],
    }
    empty = [None] * len(table)
    return pa.table({name: columns.get(name, empty) for name in SCORES.names}, schema=SCORES)


def measure(questions: Questions, model: str, seeds: int) -> tuple[Values, dict[str, Values]]:
    """Return the figures of a toy model, means over seeds, and the floors of the last one."""
    found = []
    for seed in range(seeds):
        results = summarize_facts(score(questions, model, seed), Units())
        found.append({name: column(results) for name, column in COLUMNS.items()})
    values = {name: [one[name] for one in found if one[name] is not None] for name in COLUMNS}
    return {x: fmean(y) if y else None for x, y in values.items()}, results["floors"]


def tabulate(title: str, questions: Questions, seeds: int) -> str:
    """Return the section of a dataset: the table of models and floors."""
    lines = [["model", *COLUMNS], ["---", *["---:"] * len(COLUMNS)]]
    for model in MODELS:
        values, floors = measure(questions, model, seeds)
        lines.append([model, *map(show, values.values())])
    keys = {"accuracy": "accuracy", "rankc": "RankC", "rankc_adjusted": "adjusted"}
    for name in OF_ALL:
        known = {keys[key]: value for key, value in floors[name].items()}
        lines.append([f"floor: {name}", *(show(known.get(column)) for column in COLUMNS)])
    languages = [f"{x}@{fingerprint(table)[:6]}" for x, table in questions.tables.items()]
    donors = questions.tables[next(iter(questions.tables))]["donor"]
    head = (
        f"## {title}\n\n{len(donors):,} rows in {', '.join(languages)}; "
        f"{len(donors) - donors.null_count:,} have a donor. Means of {seeds} seeds."
    )
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"{head}\n\n{table}\n"


def show(value: float | None) -> str:
    """Return a figure with three decimals, a dash where it is undefined."""
    return "–" if value is None else f"{value:z.3f}"


HEAD = """\
# Toy models

Figures of models whose knowledge is known, on real rows; `python -m bench toys BMLAMA`. The first
six models do not read the subject. They rank by nothing (constant), at random, by length, by how
often a candidate is the answer of the relation, by one order of the entities, or by that order with
noise for each entity in each language. "Knows" puts the right answer first; the rest is random in
each language, or in one order. "Always wrong alike" has an order for each subject, the same in
every language, with the right answer last.

Columns: accuracy, accuracy in another subject's sentence (donor), the gain; corrected RankC
(R − P) / (1 − P), R − P, and P, RankC with the right subject in one of two languages; RankC,
adjusted RankC; COverlap, and its value for independent languages of these accuracies; agreement,
κ, τ-b. Donor, gain, corrected, R − P and P are over the rows with a donor. The last rows are the
floors that are the same for all models; a byte of a candidate counts as a token. The hash of each
language's rows is that of the signature of a run.
"""


def main(argv: Sequence[str] = ()) -> None:
    """Print the tables and write them to bench/toys.md."""
    parts = [HEAD, tabulate("geofacts", read_questions("geofacts", None, LANGUAGES), SEEDS)]
    if argv:
        questions = read_questions(argv[0], "17-repaired", OF_BMLAMA)
        parts.append(tabulate("17-repaired", questions, max(1, SEEDS // 7)))
    text = "\n".join(parts)
    print(text)
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
