"""Simulate a model's scores by an item-response model, for bench/coverage.py.

The right candidate of a fact i about subject s in relation r has in language l the advantage

    ability_l + relation_r + interaction_rl + knowledge_s + ease_i

Every candidate has the popularity of its object in the relation, an attraction that all languages
share (common confusions), and noise of its own in each language. Scores are rounded to quarters, so
that some tie. Abilities, relations and popularities are fixed; subjects and facts are drawn.
"""

from collections.abc import Mapping

import numpy as np

from polyprobe.metrics.accuracy_at_1.accuracy_at_1 import find_accuracy
from polyprobe.metrics.answer_agreement.answer_agreement import find_agreement
from polyprobe.metrics.rankc.rankc import find_rankc, find_rankc_adjusted, rankc_pairs
from polyprobe.metrics.shared.intervals import Figure, add_mean, find_coverlap

LANGUAGES = ("en", "fr", "ru", "zh")
POOLS = (3, 10)
_FIXED = np.random.default_rng(2026)
ABILITY = np.array([0.9, 0.5, 0.2, -0.2])
RELATION = _FIXED.normal(0, 0.6, 6)
INTERACTION = _FIXED.normal(0, 0.3, (6, len(LANGUAGES)))
POPULARITY = _FIXED.normal(0, 0.7, (6, 30))

Scores = dict[str, np.ma.MaskedArray]


def draw_subjects(random: np.random.Generator, n: int, most: int = 5) -> np.ndarray:
    """Return the subject of each fact: n subjects, with 1 to `most` facts each."""
    return np.repeat(np.arange(n), random.integers(1, most + 1, n))


def respond(
    random: np.random.Generator, subjects: np.ndarray, models: int = 1
) -> tuple[Scores | np.ndarray, ...]:
    """Return the scores of each of several equal models by language, and the sizes of pools last.

    Models share the facts, their ease and the confusions; each has its own knowledge of subjects
    and its own noise. Candidate 0 is right.
    """
    n, width = len(subjects), POOLS[1]
    relation = random.integers(len(RELATION), size=n)
    sizes = random.integers(POOLS[0], width + 1, n)
    objects = random.random((n, POPULARITY.shape[1])).argpartition(width, axis=1)[:, :width]
    common = POPULARITY[relation[:, None], objects] + random.normal(0, 0.7, (n, width))
    ease = random.normal(0, 0.5, n)
    missing = np.arange(width) >= sizes[:, None]
    found: list[Scores | np.ndarray] = []
    for _ in range(models):
        known = random.normal(0, 1, subjects.max() + 1)[subjects]
        scores: Scores = {}
        for place, language in enumerate(LANGUAGES):
            values = common + random.normal(0, 0.8, (n, width))
            values[:, 0] += ABILITY[place] + RELATION[relation] + INTERACTION[relation, place]
            values[:, 0] += known + ease
            scores[language] = np.ma.masked_array((4 * values).round() / 4, missing)
        found.append(scores)
    return (*found, sizes)


def mark_first(scores: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the probability that candidate 0 is first, by language and fact."""
    best = {x: values == values.max(axis=1)[:, None] for x, values in scores.items()}
    return {x: np.asarray(part[:, 0] / part.sum(axis=1), float) for x, part in best.items()}


def measure(scores: Scores, sizes: np.ndarray) -> Figure:
    """Return all figures as one, `FIGURE LANGUAGE` or `FIGURE PAIR`.

    Its last name, the mean of all these, has no meaning.
    """
    names, values, right = list(scores), rankc_pairs(scores), mark_first(scores)
    return join_figures(
        {
            "accuracy": find_accuracy(right),
            "RankC": find_rankc(names, values),
            "adjusted RankC": find_rankc_adjusted(names, values, sizes),
            "COverlap": find_coverlap(right),
            "agreement": find_agreement(scores),
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
