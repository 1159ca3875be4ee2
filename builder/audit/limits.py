"""What the candidates allow: the ceiling of RankC if they are not parallel, and answers by chance.

The ceiling is the score of a model with the same ranking of entities in all languages.

Rows with ids in all languages are judged by ids. For other rows a dictionary is inferred from the
answers, which are the same entity in all languages, by relation.

Homonyms: English "Georgia" has two translations in P47. All observed translations are the same
entity, since labels cannot distinguish them. By this rule 847 rows of es and 1,858 of el in the
published BMLAMA-17 are not parallel to English, by the Wikidata ids of mParaRel 847 and 1,857; with
`strict`, where labels of more than one pair do not match, 859 and 1,872.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from polyprobe.metrics.shared.floors import answer_frequency, compare_names
from polyprobe.metrics.shared.rows import Rows

from .checks import Split

Place = tuple[str, str]  # relation ("" for all) and label
SEED = 20231210
QUERIES = 4096  # in a batch: a small dataset is drawn several times at once
FEWEST, MOST = 24, 1000  # batches
STANDARD_ERROR = 0.0002  # of the least certain pair; drawing ends below it


class Dictionary:
    """Counts of rows by pairs of their answers: {place of one label: {other label: rows}}."""

    def __init__(self, reference: Split, split: Split) -> None:
        self.to_reference: dict[Place, Counter[str]] = defaultdict(Counter)
        self.from_reference: dict[Place, Counter[str]] = defaultdict(Counter)
        for row, block in enumerate(reference.relation):
            for index in {*reference.answers[row]} & {*split.answers[row]}:
                original, label = reference.candidates[row][index], split.candidates[row][index]
                # Counted in the relation and over all: the second is for pairs unseen in the first.
                for place in {block, ""}:
                    self.to_reference[place, label][original] += 1
                    self.from_reference[place, original][label] += 1

    def match(self, block: str, label: str, originals: list[str], index: int) -> str | None:
        """Return the reference's label for a candidate, or None if it cannot be judged."""
        same = originals[index] if index < len(originals) else ""
        for place in (block, ""):
            seen = self.to_reference.get((place, label))
            if seen and (place, same) in self.from_reference:
                # First the label at the index, then labels in the row, by frequency, code points.
                best = min(seen, key=lambda name: (name not in originals, -seen[name], name))
                return same if same in seen else best
        # A candidate that cannot be judged keeps its label if the reference has none at its index.
        return None if index < len(originals) else label

    def has_homonym(self, block: str, labels: list[str], originals: list[str]) -> bool:
        """Tell whether a label of the row was observed with several in the other language."""
        sides = ((self.to_reference, labels), (self.from_reference, originals))
        return any(len(pairs.get((block, x), ())) > 1 for pairs, names in sides for x in names)


class Judged(NamedTuple):
    """One language's candidates compared with the reference's, row by row."""

    # A name for each candidate, one for an entity within a row: its id, or the reference's label.
    entities: list[list[str]]
    not_parallel: np.ndarray
    not_parallel_strict: np.ndarray
    not_judged: int  # candidates


def judge_language(reference: Split, split: Split, with_ids: list[bool]) -> Judged:
    """Return the entities of one language, and the rows where they differ from the reference's."""
    dictionary = Dictionary(reference, split)
    entities: list[list[str]] = []
    loose, strict, not_judged = [], [], 0
    for row, labels in enumerate(split.candidates):
        if with_ids[row]:
            entities.append(split.candidate_ids[row])
            loose.append(split.candidate_ids[row] != reference.candidate_ids[row])
            strict.append(loose[-1])
            continue
        block, originals = reference.relation[row], reference.candidates[row]
        judged = [dictionary.match(block, label, originals, j) for j, label in enumerate(labels)]
        not_judged += judged.count(None)
        names = [originals[j] if name is None else name for j, name in enumerate(judged)]
        entities.append(names)
        loose.append(names != originals)
        strict.append(loose[-1] or dictionary.has_homonym(block, labels, originals))
    return Judged(entities, np.array(loose), np.array(strict), not_judged)


class Ceiling(NamedTuple):
    """RankC of a perfectly consistent model, for each unordered pair of languages, as "el-en".

    A draw assigns a random value to each entity of a query. Each language's candidates are ranked
    by the values of their entities; in `answer_first` the answers rank above all others, as in a
    model that knows the facts. Queries with the same entities in all languages score 1 and are not
    drawn.
    """

    random: dict[str, float]
    answer_first: dict[str, float]
    draws: int
    standard_error: float  # the largest of all pairs in both, 0 without draws
    rows_left_out: int  # without candidates, or with different numbers of them by language


def compute_ceiling(splits: Mapping[str, Split], judged: Mapping[str, Judged]) -> Ceiling:
    """Return the ceiling of each pair of languages, over rows of equal size in all languages."""
    rows = list(zip(*(language.entities for language in judged.values()), strict=True))
    fit = [row for row, names in enumerate(rows) if len({len(n) for n in names}) == 1 and names[0]]
    differ = [row for row in fit if any(names != rows[row][0] for names in rows[row])]
    share = len(differ) / len(fit) if fit else 0.0
    pairs = ["-".join(pair) for pair in combinations(splits, 2)]
    left_out = len(rows) - len(fit)
    if not fit or not differ or not pairs:
        same = {pair: 1.0 for pair in pairs if fit}
        return Ceiling(same, dict(same), 0, 0.0, left_out)
    answers = [[split.answers[row] for split in splits.values()] for row in differ]
    places, first, absent = number_entities([rows[row] for row in differ], answers)
    indices = np.triu_indices(len(splits), 1)
    means, error, draws = average(places, first, absent, share)
    # Exactly 1, unlike a sum of floats, where all queries are equal.
    equal = [
        [np.array_equal(values[k], values[j]) for k, j in zip(*indices, strict=True)]
        for values in (places, first)
    ]
    means[np.array([equal[0], np.logical_and(*equal)])] = 1
    scores = (1 - share * (1 - means)).tolist()
    random, answer_first = (dict(zip(pairs, row, strict=True)) for row in scores)
    return Ceiling(random, answer_first, draws, error, left_out)


def number_entities(
    entities: Sequence[Sequence[Sequence[str]]], answers: Sequence[Sequence[Sequence[int]]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number the entities of each query, and mark answers and absent candidates.

    Lists are by query and language. The first two arrays are [languages, queries, most candidates],
    the third [queries, most candidates].
    """
    sizes = [len(names[0]) for names in entities]
    shape = (len(entities[0]), len(entities), max(sizes))
    places: np.ndarray = np.zeros(shape, dtype=np.intp)
    first: np.ndarray = np.zeros(shape, dtype=bool)
    size = 0
    for query, languages in enumerate(entities):
        numbers: dict[str, int] = {}
        for k, names in enumerate(languages):
            values = [numbers.setdefault(name, size + len(numbers)) for name in names]
            places[k, query, : len(values)] = values
            first[k, query, answers[query][k]] = True
        size += len(numbers)
    return places, first, np.arange(max(sizes)) >= np.array(sizes)[:, None]


def average(
    places: np.ndarray, first: np.ndarray, absent: np.ndarray, share: float
) -> tuple[np.ndarray, float, int]:
    """Return the means over draws, their largest error, and the number of draws."""
    # The means have the shape (random, answer first) x pairs. The error is that of the mean over
    # all rows; `share` is the share of drawn rows.
    generator = np.random.default_rng(SEED)
    copies = max(1, QUERIES // len(absent))
    masked = np.tile(absent, (copies, 1))
    pairs = np.triu_indices(len(places), 1)
    total, squares = np.zeros((2, 2, len(pairs[0])))
    for number in range(1, MOST + 1):
        values = generator.random((copies, places.max() + 1))[:, places]
        sample = np.stack([rank_languages(values + lift * first, masked)[pairs] for lift in (0, 1)])
        total, squares = total + sample, squares + sample**2
        if number < FEWEST:
            continue
        variance = np.maximum(squares - total**2 / number, 0) / (number - 1)
        error = share * float(np.sqrt(variance / number).max())
        if error < STANDARD_ERROR:
            break
    return total / number, error, number * copies


def rank_languages(values: np.ndarray, masked: np.ndarray) -> np.ndarray:
    """Return RankC of all pairs of languages, from values [copies, languages, …]."""
    from polyprobe.metrics.rankc.formulas import rankc_matrix  # here: see audit_language

    tables = (values[:, k].reshape(masked.shape) for k in range(values.shape[1]))
    return rankc_matrix({str(k): np.ma.masked_array(x, masked) for k, x in enumerate(tables)})


class Baseline(NamedTuple):
    """Expected accuracies of rankings without a model."""

    # None without rows, and where each row has one candidate.
    rows: int  # with a correct candidate; the others are left out
    chance: float | None  # of random rankings
    frequency: float | None  # of candidates ranked by the other facts that they answer
    # Of those ranked by the pairs of letters shared with the subject's name; None without names.
    letters: float | None = None


def find_baselines(split: Split, by_id: bool) -> dict[str, Baseline]:
    """Return {relation: baseline} of the rows of a language, and that of all rows under ''."""
    names = split.candidate_ids if by_id else split.candidates
    rows = [row for row, answers in enumerate(split.answers) if answers]
    if max((len(names[row]) for row in rows), default=1) == 1:
        return {"": Baseline(len(rows), None, None)}
    relations = [split.relation[row] for row in rows]
    answers = [split.answers[row] for row in rows]
    chance = np.array([len(split.answers[row]) / len(names[row]) for row in rows])
    facts = [split.fact_id[row] or str(row) for row in rows]
    shares = [chance, answer_frequency(relations, facts, [names[row] for row in rows], answers)]
    if all(split.subject[row] for row in rows):
        # it imports scipy
        from polyprobe.metrics.accuracy_at_1.formulas import right_probability

        pairs = [(split.subject[row], name) for row in rows for name in split.candidates[row]]
        sizes = np.array([len(split.candidates[row]) for row in rows])
        shares.append(right_probability(Rows(compare_names(pairs)[0], sizes), answers))
    places = {"": list(range(len(rows)))}
    for place, relation in enumerate(relations):
        if relation:  # empty if the dataset has no relations
            places.setdefault(relation, []).append(place)
    return {
        relation: Baseline(len(numbers), *(float(x[numbers].mean()) for x in shares))
        for relation, numbers in places.items()
    }


def find_prior(split: Split, n_train: int) -> float | None:
    """Return the accuracy, behind the first rows, of the candidates right most often in these."""
    rows, shares = list(zip(split.candidates, split.answers, strict=True)), []
    counts = Counter(names[place] for names, right in rows[:n_train] for place in right)
    for names, right in rows[n_train:]:
        highest = max(counts[name] for name in names)
        best = [counts[name] == highest for name in names]
        shares.append(sum(best[place] for place in right) / sum(best))
    return float(np.mean(shares)) if counts and shares else None
