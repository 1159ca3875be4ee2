"""Measure what every figure of a run says about toy models whose knowledge is known.

    python -m bench toys [BMLAMA]        writes bench/toys.md

The models score real rows, in their own sentence and in that of a donor as `polyprobe eval` deals
it, and the figures are those of results.json. BMLAMA is the folder of a built dataset
(`polyprobe build bmlama`); without it the second table is left out.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np

from polyprobe.analysis.figures.facts import ScoredFacts, masked_scores
from polyprobe.analysis.figures.figures import BY_NAME
from polyprobe.analysis.figures.floors import FLOORS, find_floors
from polyprobe.metrics.rankc_subject.formulas import leave_out_answers
from polyprobe.metrics.shared.intervals import Resampling, estimate
from polyprobe.metrics.shared.ranks import compare_rankings
from polyprobe.schema.columns import fingerprint
from polyprobe.schema.load import load_facts

from .dealt import Dealt

LANGUAGES = ["en", "es", "fr", "de", "ru", "el", "ar", "hi", "zh", "ja"]
OF_BMLAMA = ["en", "fr", "es", "ru", "zh", "ja"]
SEEDS, SEEDS_OF_BMLAMA = 20, 5
SURE = 100.0  # more than any other score
NOISE = 0.75  # standard deviation of the noise above a common order
LONGEST = 1e6  # characters, more than any name has
Values = Mapping[str, float | None]


class Questions:
    """A dataset, and what a model may know of it, by pair of sentence and candidate.

    Attributes:
        frequency: how often a candidate is the answer of the relation.
        continental: whether a candidate is an answer of a subject of the same continent (P30).
        subjects, candidates: their names, by language.
    """

    def __init__(self, dataset: str, config: str | None, languages: Sequence[str]) -> None:
        self.dealt = dealt = Dealt(load_facts(dataset, config, languages))
        facts = [name for name, right in zip(dealt.names, dealt.right, strict=True) if right]
        counts = Counter((relation, entity) for relation, _, entity in facts)
        self.frequency = np.array([float(counts[x[0], x[2]]) for x in dealt.names])
        continents, answers = defaultdict[str, set](set), defaultdict[tuple, set](set)
        for relation, subject, entity in facts:
            continents[subject] |= {entity} if relation == "P30" else set()
        for relation, subject, entity in facts:
            answers[relation, entity] |= continents[subject]
        self.continental = np.array(
            [bool(continents[s] & answers[r, e]) for r, s, e in dealt.names]
        )
        self.subjects, self.candidates = {}, {}
        for language, table in dealt.tables.items():
            labels, lists = table["subject"].to_pylist(), table["candidates"].to_pylist()
            self.subjects[language] = [labels[row] for row, _, _ in dealt.places]
            self.candidates[language] = [lists[row][place] for _, row, place in dealt.places]

    def compare_names(self, language: str, compare: Callable[[str, str], float]) -> np.ndarray:
        """Compare subject and candidate of each pair by their names."""
        names = zip(self.subjects[language], self.candidates[language], strict=True)
        texts = ([x.strip().casefold() for x in pair] for pair in names)
        return np.array([compare(*pair) for pair in texts], dtype=np.float64)


class Model(NamedTuple):
    """A model in one language; each seed has other random numbers.

    Attributes:
        questions: the dataset.
        language: its name.
        place: its place in the list of languages.
        alike: random numbers that are the same in all languages.
        random: others in each language.
    """

    questions: Questions
    language: str
    place: int
    alike: np.random.Generator
    random: np.random.Generator

    def order(self) -> np.ndarray:
        """Order the entities, for all sentences and languages."""
        entities = self.questions.dealt.entities
        return self.alike.normal(size=entities.max() + 1)[entities]

    def noise(self, random: np.random.Generator | None = None) -> np.ndarray:
        """Draw an order for each sentence, in this language alone, or in all from `alike`."""
        return (random or self.random).normal(size=len(self.questions.dealt.names))

    def know(
        self, low: float, high: float, random: np.random.Generator | None = None
    ) -> np.ndarray:
        """Raise the right answers of the sentences between two shares of a random order of all."""
        dealt = self.questions.dealt
        places = (random or self.alike).random(dealt.sentences.max() + 1)[dealt.sentences]
        return SURE * (dealt.right & (places >= low) & (places < high))

    def know_some(self, share: float) -> np.ndarray:
        """Raise the right answers of a share of the sentences, others in each language."""
        return self.know(0, share, self.random)


def order_with_noise(model: Model) -> np.ndarray:
    """Order the entities, with as much noise of each entity in each language."""
    entities = model.questions.dealt.entities
    return model.order() + model.random.normal(size=entities.max() + 1)[entities]


def start_alike(model: Model) -> np.ndarray:
    """Put the names with the subject's first letter first, then the shortest."""
    alike = model.questions.compare_names(model.language, lambda x, y: x[:1] == y[:1])
    return LONGEST * alike + shorten(model)


def share_bigrams(subject: str, name: str) -> float:
    """Compute Dice's coefficient of the pairs of adjacent characters."""
    first, second = ({*pairwise(x)} for x in (subject, name))
    return 2 * len(first & second) / max(len(first) + len(second), 1)


def shorten(model: Model) -> np.ndarray:
    """Put the shortest names first."""
    return -np.array([*map(len, model.questions.candidates[model.language])], dtype=np.float64)


def share_substring(subject: str, name: str) -> int:
    """Count the characters of the longest common substring."""
    longest = 0
    for start in range(len(name)):
        while start + longest < len(name) and name[start : start + longest + 1] in subject:
            longest += 1
    return longest


# One ranking for all subjects in each language.
FIXED: dict[str, Callable[[Model], np.ndarray]] = {
    "constant": lambda x: np.zeros(len(x.questions.dealt.names)),
    "shortest name first": shorten,
    "popularity": lambda x: x.questions.frequency,
    "one order": lambda x: x.order(),
    "one order and noise": order_with_noise,
}
# Rankings that know no fact; the last three read the subject's name.
BLIND = {
    "random": lambda x: x.noise(),
    "one order, noise for each subject": lambda x: x.order() + NOISE * x.noise(),
}
NAMES = {
    "shared bigrams": lambda x: x.questions.compare_names(x.language, share_bigrams),
    "longest common substring": lambda x: x.questions.compare_names(x.language, share_substring),
    "first letter, then shortest": start_alike,
}
CONTINENT = "knows only the continent"
ALIKE = {
    CONTINENT: lambda x: SURE * x.questions.continental + x.noise(),
    "nonsense for each subject": lambda x: x.noise(x.alike),
    "always wrong alike": lambda x: x.noise(x.alike) - x.know(0, 1),
    "knows all, rest random": lambda x: x.noise() + x.know(0, 1),
    "knows all, rest in one order": lambda x: x.order() + x.know(0, 1),
    "knows 1 %, rest in one order": lambda x: x.order() + x.know(0, 0.01),
    "knows 5 %, rest in one order": lambda x: x.order() + x.know(0, 0.05),
    "knows half, rest in one order": lambda x: x.order() + x.know(0, 0.5),
    "knows half, rest random": lambda x: x.noise() + x.know(0, 0.5),
    "knows half, rest wrong alike": lambda x: x.noise(x.alike) + x.know(0, 0.5),
    "another half in each, rest random": lambda x: x.noise() + x.know_some(0.5),
    "another half in each, rest in one order": lambda x: x.order() + x.know_some(0.5),
    "another half in each, one order and noise": lambda x: (
        x.order() + NOISE * x.noise() + x.know_some(0.5)
    ),
}
# Of the first two languages alone, of which each knows something else.
UNLIKE = {
    "knows 30 and 80 % independently, rest in one order": lambda x: (
        x.order() + x.know_some((0.3, 0.8)[x.place])
    ),
    "complementary halves, rest random": lambda x: (
        x.noise() + x.know(x.place / 2, (x.place + 1) / 2)
    ),
    "knows all in one language, rest random": lambda x: x.noise() + x.know(x.place, 1),
    "knows all in one language, rest in one order": lambda x: x.order() + x.know(x.place, 1),
    "knows all in one language, one order and noise": lambda x: (
        x.order() + NOISE * x.noise() + x.know(x.place, 1)
    ),
}
MODELS = FIXED | BLIND | NAMES | ALIKE | UNLIKE
COLUMNS = {
    "accuracy": "accuracy",
    "gain": "accuracy_gain",
    "centred": "rankc_subject",
    "R − 2P + Q": "rankc_interaction",
    "room": "rankc_room",
    "right": "rankc_right",
    "rest": "rankc_rest",
    "independent": "rankc_independent",
    "beyond": "rankc_beyond",
    "bounded": "bounded",
    "RankC": "rankc",
    "adjusted": "rankc_adjusted",
    "P": "rankc_donor",
    "COverlap": "coverlap",
    "agreement": "agreement",
    "κ": "kappa",
    "τ-b": "kendall_tau_b",
}
DRAWN_ONCE = {"constant", "shortest name first", "popularity", *NAMES}  # without random numbers
# Floors that are no model of the table, and the same for every model.
OF_ALL = ("frequency", "majority", "tokens", "nonsense")


def read_questions(bmlama: str | Path | None = None) -> Questions:
    """Read geofacts, or 17-repaired from the folder of BMLAMA."""
    if bmlama is None:
        return Questions("geofacts", None, LANGUAGES)
    questions = Questions(str(bmlama), "17-repaired", OF_BMLAMA)
    questions.continental[:] = False  # its places with a continent are no countries
    return questions


def list_models(questions: Questions) -> list[str]:
    """List the models that a dataset can have."""
    return [x for x in MODELS if x != CONTINENT or questions.continental.any()]


def score(questions: Questions, model: str, seed: int) -> ScoredFacts:
    """Make the scored facts of a toy model."""
    scores = {}
    for place, language in enumerate(questions.dealt.tables):
        if model not in UNLIKE or place < 2:
            alike = np.random.default_rng([seed, 0])
            random = np.random.default_rng([seed, 1, place])
            scores[language] = MODELS[model](Model(questions, language, place, alike, random))
    return questions.dealt.score(scores)


def measure(questions: Questions, model: str, seeds: int) -> Values:
    """Compute the figures of a toy model, means over seeds."""
    values: dict[str, list[float]] = {name: [] for name in COLUMNS}
    for seed in range(1 if model in DRAWN_ONCE else seeds):
        facts = score(questions, model, seed)
        for column, name in COLUMNS.items():
            value = bound(facts) if name == "bounded" else find(facts, name)
            values[column] += [] if value is None else [value]
    return {column: fmean(x) if x else None for column, x in values.items()}


def find(facts: ScoredFacts, name: str) -> float | None:
    """Find the mean of a figure."""
    values = estimate(BY_NAME[name].measure(facts), Resampling(n_resamples=0))
    return values.get("mean", values.get(name))


def bound(facts: ScoredFacts) -> float | None:
    """Compute the mean of (R - 2P + Q) / 2√((1 - C(A_s, A_d)) (1 - C(B_s, B_d))) over pairs."""
    rows = facts.second.terms.counted
    changes = []
    for table in facts.tables.values():
        table = table.filter(rows)
        scores, donor = (masked_scores(table, x) for x in ("scores", "donor_scores"))
        sizes = (~scores.mask).sum(axis=1)
        answers, donors = (table[x].to_pylist() for x in ("answers", "donor_answers"))
        keep, _, sizes = leave_out_answers(answers, donors, sizes)
        rankings = (scores.compressed()[keep], donor.compressed()[keep])
        changes.append(1 - compare_rankings(*rankings, sizes, facts.options.weights).mean())
    numerators = facts.second.terms.interaction[rows].mean(axis=0)
    bounds = [2 * np.sqrt(max(a, 0) * max(b, 0)) for a, b in combinations(changes, 2)]
    pairs = [n / room for n, room in zip(numerators, bounds, strict=True) if room > 1e-6]
    return fmean(pairs) if pairs else None


def tabulate(title: str, questions: Questions, seeds: int) -> str:
    """Make the section of a dataset: the table of models and floors."""
    lines = [["model", *COLUMNS], ["---", *["---:"] * len(COLUMNS)]]
    for model in list_models(questions):
        values = measure(questions, model, seeds)
        lines.append([model, *map(show, values.values())])
        print(f"{title}: {' · '.join(lines[-1])}", flush=True)
    floors = find_floors(score(questions, "random", 0), COLUMNS.values())
    for floor in FLOORS:
        if floor.name in OF_ALL:
            means = {x: values["mean"] for x, values in floors[floor.name].items()}
            lines.append([f"floor: {floor.title}", *(show(means.get(x)) for x in COLUMNS.values())])
    tables = questions.dealt.tables
    languages = [f"{x}@{fingerprint(table)[:6]}" for x, table in tables.items()]
    donors = next(iter(tables.values()))["donor"]
    head = (
        f"## {title}\n\n{len(donors):,} rows in {', '.join(languages)}; "
        f"{len(donors) - donors.null_count:,} have a donor. Means of {seeds} seeds."
    )
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{head}\n\n{table}\n"


def show(value: float | None) -> str:
    """Show a figure with three decimals, a dash where it is undefined."""
    return "–" if value is None else f"{value:z.3f}"


HEAD = """\
# Toy models

Figures of models whose knowledge is known, on real rows; `python -m bench toys BMLAMA`. A model
scores a candidate in a sentence once in each language, whichever rows share the sentence. The first
five models have one ranking for all subjects: none (constant), by length, by how often a candidate
is the answer of the relation, by one order of the entities, or by that order with noise for each
entity in each language. The next two have noise for each subject and know nothing. Three rank by
the names of candidate and subject, "knows only the continent" by countries, the answers on the
subject's continent first. "Nonsense" has one order for each subject, the same in every language;
"always wrong alike" the same with the right answer last. "Knows" puts the right answer first; the
rest is random for each subject and language, or in one order. The same facts are known in every
language, "another half in each" apart. The last five models have the first two languages alone.

Columns: accuracy and its gain over another subject's sentence; centred RankC, its numerator
R − 2P + Q and its denominator, the room 1 − 2P + Q; the parts of centred RankC that are the right
answers' and the rest; its value for independent knowledge, and what is beyond it; "bounded", the
numerator over 2√((1 − C(A_s, A_d))(1 − C(B_s, B_d))), C for RankC of the rankings A and B about
subject and donor; RankC, adjusted RankC; P, RankC with the right subject in one of two languages;
COverlap, agreement, κ, τ-b. Gain, centred to bounded, and P are over the rows with a donor, without
the donor's answers. The last rows are floors that are the same for all models, where no model
above has their ranking; a byte of a candidate counts as a token. The hash of each language's rows
is that of the signature of a run.
"""


def main(argv: Sequence[str] = ()) -> None:
    """Print the tables and write them to bench/toys.md."""
    parts = [HEAD, tabulate("geofacts", read_questions(), SEEDS)]
    if argv:
        parts.append(tabulate("17-repaired", read_questions(argv[0]), SEEDS_OF_BMLAMA))
    text = "\n".join(parts)
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
