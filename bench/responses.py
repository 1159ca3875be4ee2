"""Simulate a model's scores by an item-response model, for bench/coverage.py.

The right candidate of a fact i about subject s in relation r has in language l the advantage

    ability_l + relation_r + interaction_rl + knowledge_s + ease_i

Every candidate has the popularity of its object in the relation, an attraction that all languages
share (common confusions), and noise of its own in each language. Scores are rounded to quarters, so
that some tie. Abilities, relations and popularities are fixed; subjects and facts are drawn.

A second question is about a donor, whose answer is not among the candidates: they have the same
popularity and attraction, part of the same noise, and no candidate has an advantage.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from polyprobe.analysis.figures.facts import SecondQuestions
from polyprobe.analysis.figures.figures import FIGURES
from polyprobe.metrics.accuracy_at_1.formulas import find_accuracy
from polyprobe.metrics.answer_agreement.formulas import find_agreement
from polyprobe.metrics.coverlap.formulas import find_coverlap
from polyprobe.metrics.rankc.formulas import find_rankc, find_rankc_adjusted, rankc_pairs
from polyprobe.metrics.rankc_subject.formulas import compare_subjects
from polyprobe.metrics.shared.intervals import Figure, add_mean
from polyprobe.metrics.shared.rows import read_languages

LANGUAGES = ("en", "fr", "ru", "zh")
POOLS = (3, 10)
_FIXED = np.random.default_rng(2026)
ABILITY = np.array([0.9, 0.5, 0.2, -0.2])
RELATION = _FIXED.normal(0, 0.6, 6)
INTERACTION = _FIXED.normal(0, 0.3, (6, len(LANGUAGES)))
POPULARITY = _FIXED.normal(0, 0.7, (6, 30))

ALIKE = 0.5  # correlation of a candidate's noise in the two sentences of a language
_SECOND = ("rankc_subject", "rankc_difference", "accuracy_gain")
SECOND = {figure.title: figure.sums for figure in FIGURES if figure.name in _SECOND}

Scores = dict[str, np.ma.MaskedArray]


class Answers(NamedTuple):
    """A model's scores by language [facts, candidates], of both questions; candidate 0 is right."""

    scores: Scores
    donor_scores: Scores
    sizes: np.ndarray


def draw_subjects(random: np.random.Generator, n: int, most: int = 5) -> np.ndarray:
    """Return the subject of each fact: n subjects, with 1 to `most` facts each."""
    return np.repeat(np.arange(n), random.integers(1, most + 1, n))


def respond(random: np.random.Generator, subjects: np.ndarray, models: int = 1) -> list[Answers]:
    """Return the answers of several equal models.

    Models share the facts, their ease and the confusions; each has its own knowledge of subjects
    and its own noise.
    """
    n, width = len(subjects), POOLS[1]
    relation = random.integers(len(RELATION), size=n)
    sizes = random.integers(POOLS[0], width + 1, n)
    objects = random.random((n, POPULARITY.shape[1])).argpartition(width, axis=1)[:, :width]
    common = POPULARITY[relation[:, None], objects] + random.normal(0, 0.7, (n, width))
    ease = random.normal(0, 0.5, n)
    missing = np.arange(width) >= sizes[:, None]
    found, noises = [], []
    for _ in range(models):
        known = random.normal(0, 1, subjects.max() + 1)[subjects]
        scores: Scores = {}
        for place, language in enumerate(LANGUAGES):
            noise = random.normal(0, 0.8, (n, width))
            values = common + noise
            values[:, 0] += ABILITY[place] + RELATION[relation] + INTERACTION[relation, place]
            values[:, 0] += known + ease
            scores[language] = round_scores(values, missing)
            noises.append(noise)
        found.append(Answers(scores, {}, sizes))
    for i, noise in enumerate(noises):
        other = ALIKE * noise + np.sqrt(1 - ALIKE**2) * random.normal(0, 0.8, (n, width))
        model, place = divmod(i, len(LANGUAGES))
        found[model].donor_scores[LANGUAGES[place]] = round_scores(common + other, missing)
    return found


def respond_by_habit(
    random: np.random.Generator, subjects: np.ndarray, advantage: float = 0.0
) -> SecondQuestions:
    """Return both questions of a model without knowledge, or with an `advantage` of the answer.

    The facts of a subject share their candidates and these their attraction, common and in each
    language. The subject's name shifts them too, in each language apart, and so does a donor's:
    without advantage rankings depend on the subject, but not alike in two languages.
    """
    shape = (len(subjects), 6)
    first = np.unique(subjects, return_index=True)[1][subjects]
    common = random.normal(0, 0.8, shape)[first]
    scores, donor_scores = {}, {}
    for language in LANGUAGES:
        prior = common + random.normal(0, 0.5, shape)[first]
        values = prior + random.normal(0, 0.6, shape)[first] + random.normal(0, 0.3, shape)
        values[:, 0] += advantage
        other = prior + random.normal(0, np.hypot(0.6, 0.3), shape)
        scores[language], donor_scores[language] = round_scores(values), round_scores(other)
    return pair_questions(scores, donor_scores)


def round_scores(values: np.ndarray, missing: np.ndarray | bool = False) -> np.ma.MaskedArray:
    """Return scores rounded to quarters, the missing ones masked."""
    return np.ma.masked_array((4 * values).round() / 4, missing)


def pair_questions(
    scores: Mapping[str, np.ndarray], donor_scores: Mapping[str, np.ndarray]
) -> SecondQuestions:
    """Return the first and second questions of facts, candidate 0 right."""
    rates = (np.column_stack([*mark_first(part).values()]) for part in (scores, donor_scores))
    sizes = read_languages(scores)[1]
    right = np.zeros(sizes.sum(), dtype=bool)
    right[sizes.cumsum() - sizes] = True
    terms = compare_subjects(scores, donor_scores, right)
    return SecondQuestions(terms, sizes, np.ones_like(sizes), *rates)


def mark_first(scores: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the probability that candidate 0 is first, by language and fact."""
    best = {x: values == values.max(axis=1)[:, None] for x, values in scores.items()}
    return {x: np.asarray(part[:, 0] / part.sum(axis=1), float) for x, part in best.items()}


def measure(answers: Answers) -> Figure:
    """Return all figures as one, `FIGURE LANGUAGE` or `FIGURE PAIR`.

    Its last name, the mean of all these, has no meaning.
    """
    scores, second = answers.scores, pair_questions(answers.scores, answers.donor_scores)
    names, values, right = [*scores], rankc_pairs(scores), mark_first(scores)
    return join_figures(
        {
            "accuracy": find_accuracy(right),
            "RankC": find_rankc(names, values),
            "adjusted RankC": find_rankc_adjusted(names, values, answers.sizes),
            "COverlap": find_coverlap(right),
            "agreement": find_agreement(scores),
            **{title: find(second) for title, find in SECOND.items()},
        }
    )


def join_figures(figures: Mapping[str, Figure]) -> Figure:
    """Return figures of the same facts as one, so that they are drawn once."""
    ends = np.cumsum([figure.table.shape[1] for figure in figures.values()])[:-1]

    def statistic(sums: np.ndarray) -> np.ndarray:
        parts = zip(figures.values(), np.split(sums, ends, axis=-1), strict=True)
        return add_mean(np.concatenate([f.statistic(part) for f, part in parts], axis=-1))

    names = [f"{key} {name}" for key, figure in figures.items() for name in figure.names]
    shares = [
        np.broadcast_to(figure.shares, (len(figure.table), len(figure.names)))
        for figure in figures.values()
    ]
    table = np.concatenate([figure.table for figure in figures.values()], axis=1)
    unknown = np.full((len(table), 1), np.nan)
    return Figure([*names, "mean"], table, statistic, np.concatenate([*shares, unknown], axis=1))
