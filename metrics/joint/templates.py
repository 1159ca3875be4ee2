"""Compare the reactions to the subject in two templates of a fact: consistency within a language.

With the rankings about subject and donor of two templates, centred RankC within a language and in
different templates of two languages is (R - 2 P + Q) / (1 - 2 P + Q), as in `rankc_subject`: a
ranking that does not read the subject has none, however alike its templates are.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from polyprobe.metrics.rankc_subject.formulas import ROOM, divide_terms
from polyprobe.metrics.shared import ranks
from polyprobe.metrics.shared.intervals import Figure, add_mean, name_pairs
from polyprobe.metrics.shared.rows import Scores, read_languages


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
