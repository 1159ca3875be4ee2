"""Rankings that need no model: by the frequency of answers, and by the letters of names."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from itertools import pairwise

import numpy as np

from polyprobe.metrics.shared.rows import Answers, check_answers


def answer_frequency(
    groups: Sequence[Hashable],
    facts: Sequence[Hashable],
    candidates: Sequence[Sequence[Hashable]],
    answers: Answers,
    own_fact: bool = False,
    queries: Sequence[int] | None = None,
) -> np.ndarray:
    """Compute the probability that each query's most frequent candidate is correct [queries].

    It is the baseline "Freq" of LAMA (Petroni et al. 2019), which reads no subject.

    >>> cities = ["Paris", "Rome", "Bern"]
    >>> answer_frequency(["P740"] * 4, ["a", "b", "c", "d"], [cities] * 4, [[0], [0], [1], [0]])
    array([1., 1., 0., 1.])

    The frequency of a candidate is the number of other facts of the query's group (usually its
    relation) with it as a correct answer; several queries of a fact, its other templates, count
    once. Equal frequencies are in random order. The mean of the probabilities is the accuracy.

    With `own_fact` the query's own fact counts too. The ranking then has seen the answers, as a
    model that has learnt the most frequent one: if all objects of a relation are candidates, the
    mean is the share of the most frequent object. `candidates` are comparable within a group.
    `queries` are those to compute (default: all); all are counted.
    """
    answers = check_answers(answers, len(candidates), "answers")
    rows = list(zip(groups, facts, candidates, answers, strict=True))
    answers_of_fact = defaultdict[tuple[Hashable, Hashable], set[Hashable]](set)
    for group, fact, names, right in rows:
        answers_of_fact[group, fact].update(names[place] for place in right)
    counts = defaultdict[Hashable, Counter[Hashable]](Counter)
    for (group, _), correct in answers_of_fact.items():
        counts[group].update(correct)
    shares = []
    for group, fact, names, right in rows if queries is None else [rows[k] for k in queries]:
        excluded = () if own_fact else answers_of_fact[group, fact]
        frequencies = np.array([counts[group][name] - (name in excluded) for name in names])
        top = frequencies == frequencies.max()
        shares.append(top[sorted(set(right))].sum() / top.sum())
    return np.array(shares)


def compare_names(pairs: Sequence[tuple[str, str]]) -> tuple[np.ndarray, np.ndarray]:
    """Compare pairs of names: Dice's coefficient of their bigrams, and whether they start alike.

    >>> compare_names([("Night", "nacht")])
    (array([0.25]), array([ True]))
    """
    folded = {name: name.strip().casefold() for pair in pairs for name in pair}
    bigrams = {name: frozenset(map("".join, pairwise(x))) for name, x in folded.items()}
    sets = [(bigrams[first], bigrams[second]) for first, second in pairs]
    shared = np.array([len(first & second) for first, second in sets], dtype=np.float64)
    total = np.array([len(first) + len(second) for first, second in sets])
    shares = np.divide(2 * shared, total, out=np.zeros(len(pairs)), where=total > 0)
    initials = [folded[first][:1] == folded[second][:1] for first, second in pairs]
    return shares, np.array(initials, dtype=bool)
