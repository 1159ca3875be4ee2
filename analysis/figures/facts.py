"""The scored facts of a run: validated scores and answers in every language."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from polyprobe.metrics.accuracy_at_1.formulas import chance_accuracy, rate_first, right_probability
from polyprobe.metrics.rankc.formulas import rankc_chance, rankc_pairs
from polyprobe.metrics.rankc_subject.formulas import (
    Terms,
    compare_subjects,
    empty_terms,
    keep_others,
)
from polyprobe.metrics.shared.intervals import index_labels
from polyprobe.metrics.shared.ranks import compare_rankings, order_scores
from polyprobe.metrics.shared.rows import Rows, mark_right, read_rows
from polyprobe.schema.checks import find_different
from polyprobe.schema.run.folder import Run, read_run_tables
from polyprobe.schema.run.protocol import protocol_of
from polyprobe.schema.run.rows import Choice, apply_choice
from polyprobe.system.errors import PolyprobeError

from .options import RankingOptions

DEFAULTS = RankingOptions()
LABELS = ("relation", "fact_id")
SENTENCES = ("scores", "donor_scores")
DONOR_COLUMNS = ("donor_scores", "donor_answers")


class SecondQuestions(NamedTuple):
    """The facts in another subject's sentence, without the donor's answers; 0 if not counted."""

    terms: Terms  # of consistency [facts, pairs]
    sizes: np.ndarray  # candidates in the first language [facts]
    n_right: np.ndarray  # correct ones among them
    # probability that the right answer is first [facts, languages], in both sentences
    right: np.ndarray
    donor_right: np.ndarray

    @property
    def accuracy_gain(self) -> np.ndarray:
        """Compute right less right in the other sentence, by fact and language."""
        return self.right - self.donor_right


class OtherTemplates(NamedTuple):
    """Each question beside another template of its fact: the next one, the first after the last."""

    languages: list[str]
    several: np.ndarray  # [questions] whose fact has several templates; else 0 below
    within: np.ndarray  # RankC of both in one language [questions, languages]
    # RankC of a template in one language and the other in a second, the mean of both ways
    # [questions, pairs]; no pairs if languages have other candidates
    between: np.ndarray
    chance: np.ndarray  # RankC of random rankings [questions]

    def adjust(self, values: np.ndarray) -> np.ndarray:
        """Adjust values for chance, 0 if not `several` or with a single candidate."""
        chance, several = self.chance[:, None], (self.several & (self.chance < 1))[:, None]
        return np.divide(values - chance, 1 - chance, out=np.zeros_like(values), where=several)


class ScoredFacts:
    """The input of every figure: the same facts in the same order in every language."""

    def __init__(
        self,
        tables: Mapping[str, pa.Table],
        options: RankingOptions = DEFAULTS,
        scoring: str = "bmlama",
        own_candidates: bool = False,
        donors: bool = False,
    ) -> None:
        self.tables, self.languages, self.options = tables, list(tables), options
        self.scoring, self.protocol = scoring, protocol_of(scoring)
        self.table: pa.Table = tables[self.languages[0]]
        self.answers: list[list[int]] = self.table["answers"].to_pylist()
        # Validated once: kernels read them without a second check.
        self.raw_scores = {x: Rows(*read_rows(masked_scores(t), x)) for x, t in tables.items()}
        self.scores = self.settle(self.raw_scores)  # those that are ranked
        self.sizes = self.scores[self.languages[0]].sizes  # candidates, in the first language
        self.matched = not own_candidates  # else rankings of languages are not compared
        self.rankc = np.zeros((len(self.sizes), 0))  # [facts, pairs]
        if self.matched:
            self.rankc = rankc_pairs(self.scores, options.weights)
        # Probability that each fact is right; 1 or 0 without ties.
        self.right = {x: right_probability(s, self.answers) for x, s in self.scores.items()}
        # Languages with the same candidates have the same accuracy of a guess.
        languages = self.languages[:1] if self.matched else self.languages
        levels = [chance_accuracy(self.scores[x], self.answers).mean() for x in languages]
        self.chance = float(np.mean(levels))
        # Probability that the most frequent answer is right; `majority` counts the fact itself.
        columns = [[table[name] for table in tables.values()] for name in ("baseline", "majority")]
        self.baseline, self.majority = (
            None
            if any(column.null_count for column in level)
            else {x: y.to_numpy().astype(np.float64) for x, y in zip(tables, level, strict=True)}
            for level in columns
        )
        marks = [t[x].is_valid().to_numpy() for t in tables.values() for x in DONOR_COLUMNS]
        covered = np.flatnonzero(np.logical_and.reduce(marks))
        # Where donors were dealt and no fact has one, all are counted as left out.
        self.second = self._read_second(covered) if donors or len(covered) else None

    def settle(self, scores: Mapping[str, Rows]) -> dict[str, Rows]:
        """Settle the ties of scores as the options say."""
        if self.options.ties == "expected":
            return {**scores}
        return {x: Rows(order_scores(*rows), rows.sizes) for x, rows in scores.items()}

    def _read_second(self, places: np.ndarray) -> SecondQuestions:
        """Read the facts at some places in both sentences, without the donors' answers."""
        if not len(places):
            n = np.zeros_like(self.sizes)
            rates: np.ndarray = np.zeros((len(n), len(self.languages)))
            terms = empty_terms(self.languages, n > 0, np.zeros_like(self.rankc))
            return SecondQuestions(terms, n, n, rates, rates)
        scores: dict[str, Rows] = {}
        donor_scores: dict[str, Rows] = {}
        of_languages, pools = [], list[tuple[np.ndarray, np.ndarray, np.ndarray]]()
        for language, table in self.tables.items():
            rows = table.take(places)
            if not pools or not self.matched:  # else languages have the same candidates
                pools.append(_leave_out_answers(rows))
            keep, right, sizes = pools[-1]
            flats = [read_rows(masked_scores(rows, x), language)[0][keep] for x in SENTENCES]
            both = self.settle(
                {x: Rows(flat, sizes) for x, flat in zip(SENTENCES, flats, strict=True)}
            )
            scores[language], donor_scores[language] = both.values()
            of_languages.append([rate_first(x, right) for x in both.values()])
        counted = np.logical_and.reduce([sizes > 1 for *_, sizes in pools])
        _, right, sizes = pools[0]
        if self.matched:
            relations, ids = (self.table[x].take(places).to_pylist() for x in LABELS)
            weights = self.options.weights
            terms = compare_subjects(scores, donor_scores, right, relations, ids, weights)
        else:
            terms = empty_terms(self.languages, counted, np.zeros((len(counted), 0)))
        in_sentences = zip(*of_languages, strict=True)
        of_rows = [
            sizes,
            np.add.reduceat(right, sizes.cumsum() - sizes, dtype=np.intp),
            *(counted[:, None] * np.column_stack(columns) for columns in in_sentences),
        ]

        def spread(values: np.ndarray) -> np.ndarray:
            result: np.ndarray = np.zeros((len(self.table), *values.shape[1:]), values.dtype)
            result[places] = values
            return result

        return SecondQuestions(Terms(terms[0], *map(spread, terms[1:])), *map(spread, of_rows))

    @cached_property
    def other_templates(self) -> OtherTemplates | None:
        """Compare templates of a fact; None without several, or if they have other candidates."""
        following = follow_templates(self.table["fact_id"].to_pylist())
        several = following != np.arange(len(following))
        alike = (self.sizes == self.sizes[following]).all() and all(
            answers == self.answers[row]
            for answers, row in zip(self.answers, following.tolist(), strict=True)
        )
        if not several.any() or not alike:
            return None
        starts, ends = self.sizes.cumsum() - self.sizes, self.sizes.cumsum()
        order = np.repeat(starts[following] - starts, self.sizes) + np.arange(ends[-1])
        following_rows = {x: Rows(rows.flat[order], rows.sizes) for x, rows in self.scores.items()}
        weights = self.options.weights
        within = [
            compare_rankings(rows.flat, following_rows[x].flat, rows.sizes, weights)
            for x, rows in self.scores.items()
        ]
        between = rankc_pairs(self.scores, weights, following_rows) if self.matched else self.rankc
        weight = several[:, None]
        return OtherTemplates(
            self.languages,
            several,
            np.column_stack(within) * weight,
            between * weight,
            rankc_chance(self.sizes, weights),
        )


def read_chosen(run: Run, choice: Choice) -> tuple[dict[str, pa.Table], dict[str, int]]:
    """Read the chosen rows of a run by language; count the rows left out now or before scoring."""
    settings, tables = run.settings(), read_run_tables(run)
    selection = apply_choice(next(iter(tables.values())), choice, settings.exclude)
    counts = Counter(settings.left_out) + Counter(selection.left_out)
    return {x: table.take(selection.rows) for x, table in tables.items()}, dict(counts)


def read_scored(
    run: Run, tables: Mapping[str, pa.Table], options: RankingOptions = DEFAULTS
) -> ScoredFacts:
    """Validate the facts of some rows of a run's scores."""
    settings, own_candidates = run.settings(), False
    if protocol_of(settings.scoring).contrasts:
        # Languages have their own candidates if they differ in any row of the run, chosen or not.
        own_candidates = bool(find_different(map(run.read, settings.languages), "scores").any())
    try:
        return ScoredFacts(tables, options, settings.scoring, own_candidates, settings.donor)
    except ValueError as error:
        raise PolyprobeError(
            f"{run.folder}/scores: {error}; delete that language's file and run the same "
            "`polyprobe eval` again"
        ) from error


def follow_templates(ids: Sequence[str]) -> np.ndarray:
    """List for each row the next row of the same fact, for the last one the first.

    >>> follow_templates(["a", "a", "b", "a"]).tolist()
    [1, 3, 2, 0]
    """
    codes = index_labels(ids, len(ids), "facts")[1]
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    ends = sizes.cumsum()
    following: np.ndarray = np.append(order[1:], 0)
    following[ends - 1] = order[ends - sizes]
    result = np.empty_like(order)
    result[order] = following
    return result


def _leave_out_answers(rows: pa.Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mark candidates that are no donor's answers; of these, mark the right ones and count all."""
    sizes = np.diff(rows["scores"].combine_chunks().offsets.to_numpy())
    right = mark_right(rows["answers"].to_pylist(), sizes)
    keep = keep_others(rows["donor_answers"].to_pylist(), right, sizes)
    return keep, right[keep], np.add.reduceat(keep, sizes.cumsum() - sizes, dtype=np.intp)


def masked_scores(table: pa.Table, column: str = "scores") -> np.ma.MaskedArray:
    """Read the scores as [queries, most candidates]; absent candidates are masked."""
    lists = table[column].combine_chunks()
    counts = np.diff(lists.offsets.to_numpy())
    mask = np.arange(counts.max(initial=0)) >= counts[:, None]
    values = np.zeros(mask.shape, dtype=np.float32)
    values[~mask] = lists.flatten().to_numpy()
    return np.ma.MaskedArray(values, mask)
