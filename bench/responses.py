"""Simulate a model's scores by an item-response model, for bench/coverage.py.

The right candidate of a fact i about subject s in relation r has in language l the advantage

    ability_l + relation_r + interaction_rl + knowledge_s + ease_i

Every candidate has the popularity of its object in the relation, an attraction in the sentence that
all languages share (common confusions), and noise of its own in each language. Scores are rounded
to quarters, so that some tie. Abilities, relations and popularities are fixed; subjects and facts
are drawn.

A subject occurs in several relations. In two of three relations 60 % of the subjects have the same
answer, so that some donors serve several facts: donors are those of `polyprobe eval`, and facts
that share a subject or a donor share scores.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np
import pyarrow as pa

from polyprobe.analysis.figures.facts import ScoredFacts, SecondQuestions
from polyprobe.analysis.figures.figures import BY_NAME
from polyprobe.metrics.rankc_subject.formulas import compare_subjects
from polyprobe.metrics.shared.intervals import Figure, add_mean
from polyprobe.metrics.shared.rows import read_languages

from .dealt import Dealt

LANGUAGES = ("en", "fr", "ru", "zh")
POOLS = (5, 10)
OBJECTS = 30  # of a relation
COMMON = (0.6, 0.6, 0.0)  # share of the subjects that have the same answer, by relation
_FIXED = np.random.default_rng(2026)
ABILITY = np.array([0.9, 0.5, 0.2, -0.2])
RELATION = _FIXED.normal(0, 0.6, len(COMMON))
INTERACTION = _FIXED.normal(0, 0.3, (len(COMMON), len(LANGUAGES)))
POPULARITY = _FIXED.normal(0, 0.7, (len(COMMON), OBJECTS))

FIRST = ("accuracy", "rankc", "rankc_adjusted", "coverlap", "agreement")
SECOND = ("rankc_subject", "rankc_right", "rankc_beyond", "rankc_interaction", "accuracy_gain")
Scores = Mapping[str, np.ndarray]


def draw_facts(random: np.random.Generator, subjects: int, several: bool = True) -> Dealt:
    """Draw facts of subjects in one to three relations, or in one, and deal their donors."""
    columns: dict[str, list] = {x: [] for x in ("fact_id", "relation", "candidates")}
    for subject in range(subjects):
        most = random.integers(1, len(COMMON) + 1) if several else 1
        for relation in random.permutation(len(COMMON))[:most].tolist():
            pool = random.permutation(OBJECTS)[: random.choice(POOLS)]
            if random.random() < COMMON[relation]:
                pool = np.concatenate([[0], pool[pool > 0]])
            columns["fact_id"].append(f"R{relation}:s{subject}:o{pool[0]}")
            columns["relation"].append(f"R{relation}")
            columns["candidates"].append([f"o{place}" for place in pool.tolist()])
    n = len(columns["fact_id"])
    table = pa.table({**columns, "prompt": columns["fact_id"], "answers": [[0]] * n})
    return Dealt(dict.fromkeys(LANGUAGES, table))


def respond(random: np.random.Generator, dealt: Dealt, models: int = 1) -> list[ScoredFacts]:
    """Make the scored facts of several equal models.

    Models share the facts, their ease and the confusions; each has its own knowledge of subjects
    and its own noise.
    """
    relations, entities = (np.array([int(names[k][1:]) for names in dealt.names]) for k in (0, 2))
    subjects = np.unique([names[1] for names in dealt.names], return_inverse=True)[1]
    n = len(dealt.names)
    common = POPULARITY[relations, entities] + random.normal(0, 0.4, n)
    ease = random.normal(0, 0.5, n)
    answered = []
    for _ in range(models):
        known = random.normal(0, 1, subjects.max() + 1)[subjects]
        scores = {}
        for place, language in enumerate(LANGUAGES):
            ability = ABILITY[place] + RELATION[relations] + INTERACTION[relations, place]
            values = common + dealt.right * (ability + known + ease) + random.normal(0, 0.8, n)
            scores[language] = (4 * values).round() / 4
        answered.append(dealt.score(scores))
    return answered


def measure(facts: ScoredFacts, names: tuple[str, ...]) -> Figure:
    """Measure several figures as one, `TITLE LANGUAGE` or `TITLE PAIR`, to draw them once.

    Its last name, the mean of all these, has no meaning.
    """
    figures = {BY_NAME[name].title: BY_NAME[name].measure(facts) for name in names}
    ends = np.cumsum([figure.table.shape[1] for figure in figures.values()])[:-1]

    def statistic(sums: np.ndarray) -> np.ndarray:
        parts = zip(figures.values(), np.split(sums, ends, axis=-1), strict=True)
        return add_mean(np.concatenate([f.statistic(part) for f, part in parts], axis=-1))

    shares = [
        np.broadcast_to(figure.shares, (len(figure.table), len(figure.names)))
        for figure in figures.values()
    ]
    table = np.concatenate([figure.table for figure in figures.values()], axis=1)
    unknown = np.full((len(table), 1), np.nan)
    labels = [f"{title} {x}" for title, figure in figures.items() for x in figure.names]
    return Figure([*labels, "mean"], table, statistic, np.concatenate([*shares, unknown], axis=1))


def pair_questions(scores: Scores, donor_scores: Scores) -> SecondQuestions:
    """Pair first and second questions of facts that share no donor, candidate 0 right."""
    rates = (np.column_stack([*mark_first(part).values()]) for part in (scores, donor_scores))
    sizes = read_languages(scores)[1]
    right = np.zeros(sizes.sum(), dtype=bool)
    right[sizes.cumsum() - sizes] = True
    compare = partial(compare_subjects, scores, donor_scores, right)
    return SecondQuestions(compare, sizes, np.ones_like(sizes), *rates)


def mark_first(scores: Scores) -> dict[str, np.ndarray]:
    """Compute the probability that candidate 0 is first, by language and fact."""
    best = {x: values == values.max(axis=1)[:, None] for x, values in scores.items()}
    return {x: np.asarray(part[:, 0] / part.sum(axis=1), float) for x, part in best.items()}
