"""The accuracy that a dataset allows without a model: by chance, and by frequent answers."""

from collections import Counter
from typing import NamedTuple

import numpy as np

from polyprobe.metrics.shared.floors import answer_frequency, compare_names
from polyprobe.metrics.shared.rows import Rows

from .split import Split


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
