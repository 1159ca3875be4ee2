"""Split the inconsistency of answers between languages into the parts of languages and templates.

A fact is asked about its subject and about a donor, in languages l with wordings w. y and z have
the probability of each outcome, about the subject and the donor; y y' is the probability that two
answers agree. Over the pairs of questions of a fact that differ in wording, with the means R of
y y', P of (y z' + z y') / 2 and Q of z z',

    (R - 2 P + Q) / (1 - 2 P + Q)    is the centred agreement, as of rankings in `rankc_subject`
    (1 - R) / (1 - 2 P + Q)          the inconsistency, 1 less that

It is 0 if the answers are always the same, and 1 if those about the subject agree no more than with
answers about the donor: what a language or a template answers to every subject has no part in it.
Of languages and wordings that both differ it is `between`, in one language `within`:

    between = (between - within) + within
              languages            templates

>>> en, fr = np.eye(3)[[0, 0, 1, 1]], np.eye(3)[[0, 1, 1, 1]]  # 2 facts x 2 wordings
>>> donor = np.eye(3)[[2, 2, 2, 2]]  # one answer to every other subject
>>> measure_split([en, fr], [donor, donor], np.array([0, 0, 1, 1])).tolist()
[0.25, 2.0, 0.25, 2.0]
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import stdtrit

from polyprobe.metrics.rankc_subject.formulas import ROOM, divide_terms
from polyprobe.metrics.shared import ranks
from polyprobe.metrics.shared.intervals import (
    Figure,
    add_mean,
    divide_by,
    name_pairs,
    report_figures,
    sum_by,
)
from polyprobe.metrics.shared.rows import Rows, Scores, read_languages

NAMES = ("within", "between", "share_languages", "share_templates", "room_within", "room_between")
_FEWEST, _FEW = 2, 5  # relations of an interval; fewer than _FEW are too few for a bootstrap
_LEVEL, _NOTHING = 0.95, 1e-12
Outcomes = Sequence[np.ndarray | csr_array]


class Asked(NamedTuple):
    """The answers to the questions of a relation; row i is the same question in every language."""

    outcomes: Outcomes  # probabilities [rows, outcomes] in each language
    donors: Outcomes  # the same about the donor
    facts: np.ndarray  # number of each row's fact and donor; its rows have different wordings


def split_inconsistency(
    relations: Sequence[Asked], n_resamples: int = 1_000, seed: int = 0
) -> dict[str, Any]:
    """Compute NAMES from means over relations of equal weight, with 95% intervals.

    `room_` is 1 - 2 P + Q; where it is not above ROOM, of five relations or more with its interval,
    the others are None, as with one language or no inconsistency. Each has `NAME_ci`, for other
    relations, with their own facts and templates: one relation has none, its few templates do not
    show how much others would differ. `n_left_out` relations have no two wordings of a fact.
    """
    values = np.stack([measure_split(*answers) for answers in relations])
    complete = values[np.isfinite(values[:, 0])]
    counts = {"n_relations": len(complete), "n_left_out": len(values) - len(complete)}
    point, bounds = np.full(len(NAMES), np.nan), np.full((len(NAMES), 2), np.nan)
    if len(complete):
        point = estimate_split(np.ones((1, len(complete))), complete)[0][0]
    if n_resamples and len(complete) >= _FEWEST:
        bounds = bound_means(complete, n_resamples, seed)
    if n_resamples and len(complete) >= _FEW:
        loose = ~(bounds[-2:, 0] > ROOM)
        point[np.array([*loose, *[loose.any()] * 2, False, False])] = np.nan
    undefined = np.isnan(point) | np.isnan(bounds).any(axis=1)
    ends = [None if x else y for x, y in zip(undefined, bounds.tolist(), strict=True)]
    return {**report_figures(NAMES, point, ends), **counts}


def choose_first(rows: Rows, outcomes: np.ndarray) -> csr_array:
    """Compute the probability [rows, outcomes] that the candidate of each outcome is first."""
    # Ties share it equally. `outcomes` has the number, from 0, of each candidate, row after row.
    # Only the best candidates of a row have a probability: the array is sparse.
    starts = rows.sizes.cumsum() - rows.sizes
    best = rows.flat == np.repeat(np.maximum.reduceat(rows.flat, starts), rows.sizes)
    counts = np.add.reduceat(best, starts, dtype=np.intp)
    ends: np.ndarray = np.append(0, counts.cumsum())
    shape = (len(starts), outcomes.max() + 1)
    return csr_array((np.repeat(1 / counts, counts), outcomes[best], ends), shape=shape)


def measure_split(outcomes: Outcomes, donors: Outcomes, facts: np.ndarray) -> np.ndarray:
    """Compute 1 - R and 1 - 2 P + Q of a relation within a language, then between [4].

    The columns are those of `Asked`; NaN without a pair.
    """
    if not len(facts):
        return np.full(4, np.nan)
    n, languages = np.square(np.bincount(facts)).sum() - len(facts), len(outcomes)
    pairs = n * languages * np.array([1, languages - 1])
    sentences, sums = [], []
    for parts in (outcomes, donors):
        columns = [csr_array(part) for part in parts]
        columns.append(sum(columns))  # all languages
        sentences.append(columns)
        sums.append([sum_by(facts, x) for x in columns])

    def agree(first: int, second: int) -> np.ndarray:
        """Compute the mean agreement of two wordings, in one language and in two."""
        *within, of_all = (
            (a * b).sum() - (x * y).sum()  # a wording with itself is no pair
            for a, b, x, y in zip(
                sums[first], sums[second], sentences[first], sentences[second], strict=True
            )
        )
        agreeing = np.array([sum(within), of_all - sum(within)])
        return divide_by(agreeing, pairs)

    same = agree(0, 0)
    return np.stack([1 - same, 1 - 2 * agree(0, 1) + agree(1, 1)], axis=1).ravel()


def estimate_split(counts: np.ndarray, relations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute NAMES and their standard errors [resamples, 6]; NaN where a room is not above ROOM.

    `counts` [resamples, n] are how often each of the relations [n, 4] of `measure_split` was drawn.
    """
    # The errors are those of the linearised ratios, which need no resampling.
    size = counts[0].sum()
    means = counts @ relations / size
    rooms = np.where(means[:, 1::2] > ROOM, means[:, 1::2], np.nan)
    ratios = means[:, ::2] / rooms
    slopes: np.ndarray = np.zeros((len(counts), len(NAMES), 4))  # of each name, by each mean
    for k in range(2):
        slopes[:, k, 2 * k] = 1 / rooms[:, k]
        slopes[:, k, 2 * k + 1] = -ratios[:, k] / rooms[:, k]
        slopes[:, 4 + k, 2 * k + 1] = 1
    between = np.where(ratios[:, 1] > 0, ratios[:, 1], np.nan)
    share = ratios[:, 0] / between
    slopes[:, 3] = (slopes[:, 0] - share[:, None] * slopes[:, 1]) / between[:, None]
    slopes[:, 2] = -slopes[:, 3]
    terms, middle = np.nan_to_num(relations), np.nan_to_num(means)
    squares = np.einsum("sn,ni,nj->sij", counts, terms, terms)
    squares -= size * middle[:, :, None] * middle[:, None]
    variance = np.einsum("ski,sij,skj->sk", slopes, squares, slopes) / (size * max(size - 1, 1))
    values = np.column_stack([ratios, 1 - share, share, means[:, 1::2]])
    return values, np.sqrt(np.maximum(variance, 0))


def bound_means(relations: np.ndarray, n_resamples: int, seed: int) -> np.ndarray:
    """Compute the intervals [6, 2] of NAMES, from relations [n, 4] of equal weight."""
    # An interval is value ± q s: s is the linearised standard error, q the 95% quantile of |t| in a
    # bootstrap of the relations (symmetric bootstrap-t: Hall 1988). In skewed samples q is above
    # Student's quantile. NaN if too many resamples are undefined or consist of equal relations.
    count = len(relations)
    value, error = (x[0] for x in estimate_split(np.ones((1, count)), relations))
    limit = np.full(len(NAMES), -stdtrit(count - 1, (1 - _LEVEL) / 2))
    if count >= _FEW:
        shares = np.full(count, 1 / count)
        counts = np.random.default_rng(seed).multinomial(count, shares, n_resamples)
        values, errors = estimate_split(counts, relations)
        distance = np.abs(values - value)
        t = np.where(distance < _NOTHING, 0, np.inf)
        np.divide(distance, errors, out=t, where=(errors > 0) & (distance >= _NOTHING))
        limit = np.quantile(t, _LEVEL, axis=0, method="higher")
    half = np.where(np.isfinite(limit), limit, np.nan) * error
    return np.stack([value - half, value + half], axis=1)


class TemplateTerms(NamedTuple):
    """R - 2 P + Q, then 1 - 2 P + Q, of each question and another template; 0 if not counted."""

    languages: list[str]
    within: np.ndarray  # both in one language [questions, 2 L]
    # a template in one language and the other in a second, the mean of both ways
    between: np.ndarray  # [questions, 2 pairs]; no pairs if languages have other candidates
    counted: np.ndarray  # questions with another template [questions]


def compare_templates(
    scores: Mapping[str, Scores],
    donor_scores: Mapping[str, Scores],
    following: np.ndarray,
    weights: str = "softmax",
) -> TemplateTerms:
    """Compare each question with the one of the same fact and donor at the place `following`.

    Scores have the same candidates, without the donor's answers, in both. A question that follows
    itself is not counted.

    Centred RankC within a language and in different templates of two languages is
    (R - 2 P + Q) / (1 - 2 P + Q), as in `rankc_subject`: a ranking that does not read the subject
    has none, however alike its templates are.
    """
    languages, sizes = read_languages(scores)
    donors = read_languages(donor_scores)[0]
    starts, counted = sizes.cumsum() - sizes, following != np.arange(len(sizes))
    terms = np.zeros((2, len(sizes), len(languages), len(languages)))
    for size, queries, items in ranks.split_by_size(sizes, lambda n: len(languages) * n**2):
        curves, _, rest = ranks.make_curves(size, weights)
        ends = starts[following[queries], None] + np.arange(size)
        first, second = (ranks.stack_curves(languages, x, curves) for x in (items, ends))
        changes = [
            vectors - ranks.stack_curves(donors, x, curves)
            for vectors, x in ((first, items), (second, ends))
        ]
        interaction = changes[0] @ changes[1].transpose(0, 2, 1)
        rankc = first @ second.transpose(0, 2, 1) + rest
        terms[:, queries] = interaction, 1 - rankc + interaction
    terms = (terms + terms.swapaxes(2, 3)) / 2 * counted[:, None, None]
    within = np.concatenate(np.diagonal(terms, axis1=2, axis2=3), axis=1)
    i, j = np.triu_indices(len(languages), 1)
    return TemplateTerms([*scores], within, np.concatenate(terms[:, :, i, j], axis=1), counted)


def find_centred(names: Sequence[str], values: np.ndarray, counted: np.ndarray) -> Figure:
    """Make the ratios of means of terms [questions, 2 names], see `find_ratio`."""
    table = np.column_stack([values, counted])
    return Figure([*names, "mean"], table, lambda sums: add_mean(divide_terms(sums)), firm=True)


def find_disattenuated(terms: TemplateTerms) -> Figure:
    """Make the consistency of each pair over what the consistency within both allows.

    The correction for attenuation, between / sqrt(within a * within b) (Spearman 1904) of centred
    RankC in different templates: 1 if two languages agree as well as each agrees with itself. NaN
    unless both agree with themselves.
    """
    i, j = np.triu_indices(len(terms.languages), 1)
    ends = terms.between.shape[1]

    def statistic(sums: np.ndarray) -> np.ndarray:
        within = divide_terms(sums[..., ends:])
        between = divide_terms(np.concatenate([sums[..., :ends], sums[..., -1:]], axis=-1))
        defined = (within[..., i] > ROOM) & (within[..., j] > ROOM)
        level = np.sqrt(np.where(defined, within[..., i] * within[..., j], np.nan))
        return add_mean(between / level)

    table = np.column_stack([terms.between, terms.within, terms.counted])
    return Figure([*name_pairs(terms.languages), "mean"], table, statistic, firm=True)
