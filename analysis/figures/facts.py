"""The scored facts of a run: validated scores and answers in every language."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from polyprobe.metrics.accuracy_at_1.formulas import chance_accuracy, rate_first
from polyprobe.metrics.joint.split import TemplateTerms, compare_templates
from polyprobe.metrics.rankc.formulas import rankc_pairs
from polyprobe.metrics.rankc_subject import formulas
from polyprobe.metrics.shared.ranks import order_scores
from polyprobe.metrics.shared.rows import Rows, mark_right, read_rows
from polyprobe.schema.columns import find_different
from polyprobe.schema.run.folder import Run, read_run_tables
from polyprobe.schema.run.protocol import protocol_of
from polyprobe.schema.run.rows import Choice, apply_choice
from polyprobe.system.messages import PolyprobeError

from .options import RankingOptions

DEFAULTS = RankingOptions()


class Sentences(NamedTuple):
    """The ranked scores of facts about the subject and the donor, without the donor's answers."""

    places: np.ndarray  # of the facts
    keep: np.ndarray  # marks their candidates that are left, in the first language
    scores: dict[str, Rows]
    donor_scores: dict[str, Rows]


@dataclass
class SecondQuestions:
    """The facts in another subject's sentence, without the donor's answers; 0 if not counted."""

    compare: Callable[[], formulas.Terms]  # for `terms`, when they are read first
    sizes: np.ndarray  # candidates in the first language [facts]
    n_right: np.ndarray  # correct ones among them
    # probability that the right answer is first [facts, languages], in both sentences
    right: np.ndarray
    donor_right: np.ndarray

    @cached_property
    def terms(self) -> formulas.Terms:
        """Compute the terms of consistency [facts, pairs]."""
        return self.compare()

    @property
    def accuracy_gain(self) -> np.ndarray:
        """Compute right less right in the other sentence, by fact and language."""
        return self.right - self.donor_right


class ScoredFacts:
    """The input of every figure: the same facts in the same order in every language."""

    def __init__(
        self,
        tables: Mapping[str, pa.Table],
        options: RankingOptions = DEFAULTS,
        scoring: str = "bmlama",
        own_candidates: bool = False,
        donors: bool = False,
        with_parts: bool = True,  # of centred RankC, and its templates
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
        # Probability that each fact is right; 1 or 0 without ties.
        right: np.ndarray = np.zeros(0, dtype=bool)
        self.right: dict[str, np.ndarray] = {}
        for language, rows in self.scores.items():
            if not self.right or not self.matched:  # else languages have the same candidates
                right = mark_right(self.answers, rows.sizes)
            self.right[language] = self._rate(rows, right)
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
        columns_of_donors = ("donor_scores", "donor_answers")
        marks = [t[x].is_valid().to_numpy() for t in tables.values() for x in columns_of_donors]
        covered = np.flatnonzero(np.logical_and.reduce(marks))
        self.sentences: Sentences | None = None  # of facts with a donor
        # Where donors were dealt and no fact has one, all are counted as left out.
        self.second = self._read_second(covered, with_parts) if donors or len(covered) else None

    @cached_property
    def rankc(self) -> np.ndarray:
        """Compute the RankC of each fact and pair of languages [facts, pairs]."""
        if not self.matched or self.protocol.choices:
            return np.zeros((len(self.sizes), 0))
        return rankc_pairs(self.scores, self.options.weights)

    def settle(self, scores: Mapping[str, Rows]) -> dict[str, Rows]:
        """Settle the ties of scores as the options say."""
        if self.options.ties == "expected" or self.protocol.choices:
            return {**scores}
        return {x: Rows(order_scores(*rows), rows.sizes) for x, rows in scores.items()}

    def _rate(self, rows: Rows, right: np.ndarray) -> np.ndarray:
        """Compute the probability that each fact is right; of a choice of no candidate it is 0."""
        if not self.protocol.choices:
            return rate_first(rows, right)
        return np.add.reduceat(rows.flat * right, rows.sizes.cumsum() - rows.sizes, dtype=float)

    def _read_second(self, places: np.ndarray, with_parts: bool) -> SecondQuestions:
        """Read the facts at some places in both sentences, without the donors' answers."""
        if not len(places):
            n_pairs = len(self.languages) * (len(self.languages) - 1) // 2 * self.matched
            n = np.zeros_like(self.sizes)
            rates: np.ndarray = np.zeros((len(n), len(self.languages)))
            terms = formulas.empty_terms(self.languages, n > 0, np.zeros((len(n), n_pairs)))
            return SecondQuestions(lambda: terms, n, n, rates, rates)
        sentences: tuple[dict[str, Rows], dict[str, Rows]] = ({}, {})
        of_languages, pools = [], list[tuple[np.ndarray, np.ndarray, np.ndarray]]()
        for language, table in self.tables.items():
            rows = table.take(places)
            if not pools or not self.matched:  # else languages have the same candidates
                answers, donors = (rows[x].to_pylist() for x in ("answers", "donor_answers"))
                sizes = self.scores[language].sizes[places]
                pools.append(formulas.leave_out_answers(answers, donors, sizes))
            keep, right, sizes = pools[-1]
            columns = (masked_scores(rows, x) for x in ("scores", "donor_scores"))
            flats = [read_rows(scores, language)[0][keep] for scores in columns]
            for of_sentence, flat in zip(sentences, flats, strict=True):
                of_sentence |= self.settle({language: Rows(flat, sizes)})
            of_languages.append([self._rate(x[language], right) for x in sentences])
        several = np.logical_and.reduce([sizes > 1 for *_, sizes in pools])
        keep, right, sizes = pools[0]
        if self.matched:
            of_all = self._spread(sizes, places)
            first, second = ({x: Rows(y.flat, of_all) for x, y in z.items()} for z in sentences)
            labels = (self.table[x].to_pylist() for x in ("relation", "fact_id"))
            rules = right, *labels, self.options.weights, with_parts, self.protocol.choices
            compare = partial(formulas.compare_subjects, first, second, *rules)
        else:
            counted, none = self._spread(several, places), np.zeros((len(self.sizes), 0))
            compare = partial(formulas.empty_terms, self.languages, counted, none)
        in_sentences = zip(*of_languages, strict=True)
        of_rows = [
            sizes,
            np.add.reduceat(right, sizes.cumsum() - sizes, dtype=np.intp),
            *(several[:, None] * np.column_stack(columns) for columns in in_sentences),
        ]
        if with_parts:
            self.sentences = Sentences(places, keep, *sentences)
        return SecondQuestions(compare, *(self._spread(x, places) for x in of_rows))

    @cached_property
    def other_templates(self) -> TemplateTerms | None:
        """Compare each question with the next of its fact and donor, the last with the first.

        None without several templates or donors, or if templates or languages have other
        candidates.
        """
        ids = self.table["fact_id"].to_pylist()
        if self.sentences is None or not self.matched or len({*ids}) == len(ids):
            return None
        candidates = [*zip(self.sizes.tolist(), self.answers, strict=True)]
        if [candidates[row] for row in follow_templates(ids)] != candidates:
            return None
        places, _, scores, donor_scores = self.sentences
        following = follow_templates(self.list_wordings())
        terms = compare_templates(scores, donor_scores, following, self.options.weights)
        of_rows = (self._spread(values, places) for values in terms[1:])
        return TemplateTerms(self.languages, *of_rows)

    def list_wordings(self) -> list[tuple[Any, ...]]:
        """List the fact and donor of each second question; those not counted have their own."""
        assert self.second
        assert self.sentences
        places = self.sentences.places
        table = self.table.take(places)
        columns = (table[x].to_pylist() for x in ("fact_id", "donor", "donor_answers"))
        rows = zip(places, self.second.terms.counted[places], *columns, strict=True)
        return [
            (fact, donor, *answers) if is_counted else (place,)
            for place, is_counted, fact, donor, answers in rows
        ]

    def _spread(self, values: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Spread the values of facts at some places over all facts, 0 elsewhere."""
        if len(places) == len(self.table):
            return values
        result = np.zeros((len(self.table), *values.shape[1:]), values.dtype)
        result[places] = values
        return result


def read_chosen(run: Run, choice: Choice) -> tuple[dict[str, pa.Table], dict[str, int]]:
    """Read the chosen rows of a run by language; count the rows left out now or before scoring."""
    settings, tables = run.settings(), read_run_tables(run)
    selection = apply_choice(next(iter(tables.values())), choice, settings.exclude)
    counts = Counter(settings.left_out) + Counter(selection.left_out)
    if selection.left_out:
        tables = {x: table.take(selection.rows) for x, table in tables.items()}
    return tables, dict(counts)


def read_scored(
    run: Run,
    tables: Mapping[str, pa.Table],
    options: RankingOptions = DEFAULTS,
    with_parts: bool = True,
) -> ScoredFacts:
    """Validate the facts of some rows of a run's scores; see `ScoredFacts`."""
    settings, own_candidates = run.settings(), False
    if protocol_of(settings.scoring).contrasts:
        # Languages have their own candidates if they differ in any row of the run, chosen or not.
        own_candidates = bool(find_different(map(run.read, settings.languages), "scores").any())
    try:
        kinds = (settings.scoring, own_candidates, settings.donor)
        return ScoredFacts(tables, options, *kinds, with_parts)
    except ValueError as error:
        raise PolyprobeError(
            f"{run.folder}/scores: {error}; delete that language's file and repeat the "
            "command of the run"
        ) from error


def follow_templates(ids: Sequence[Hashable]) -> np.ndarray:
    """List for each row the next row of the same fact, for the last one the first.

    >>> follow_templates(["a", "a", "b", "a"]).tolist()
    [1, 3, 2, 0]
    """
    rows: dict[Hashable, list[int]] = {}
    for row, fact in enumerate(ids):
        rows.setdefault(fact, []).append(row)
    following: np.ndarray = np.empty(len(ids), dtype=np.intp)
    for places in rows.values():
        following[places] = np.roll(places, -1)
    return following


def masked_scores(table: pa.Table, column: str = "scores") -> np.ma.MaskedArray:
    """Read the scores as [queries, most candidates]; absent candidates are masked."""
    lists = table[column].combine_chunks()
    counts = np.diff(lists.offsets.to_numpy())
    mask = np.arange(counts.max(initial=0)) >= counts[:, None]
    values = np.zeros(mask.shape, dtype=np.float32)
    values[~mask] = lists.flatten().to_numpy()
    return np.ma.MaskedArray(values, mask)
