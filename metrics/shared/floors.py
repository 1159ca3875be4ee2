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
    for group, fact, names, right in rows:
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
    from scipy.sparse import csr_array  # here: audits of datasets import this module

    number: dict[str, int] = {}
    places = np.array([[number.setdefault(x, len(number)) for x in pair] for pair in pairs], int)
    first, second = places.reshape(-1, 2).T
    names = [name.strip().casefold() for name in number]
    sets = [{*map("".join, pairwise(name))} for name in names]
    column: dict[str, int] = {}
    columns = [column.setdefault(bigram, len(column)) for bigrams in sets for bigram in bigrams]
    ends: np.ndarray = np.insert(np.cumsum([len(x) for x in sets], dtype=int), 0, 0)
    shape = (len(sets), max(len(column), 1))
    marks = csr_array((np.ones(len(columns)), columns, ends), shape=shape)
    both = marks[first].multiply(marks[second]).sum(axis=1)
    total = np.diff(ends)[first] + np.diff(ends)[second]
    shares = np.divide(2 * both, total, out=np.zeros(len(first)), where=total > 0)
    initials = np.array([name[:1] for name in names] or [""])
    return shares, initials[first] == initials[second]
