"""Measure whether a model gives the same answer to paraphrases (consistency, mParaRel).

For a tuple (subject, object) that is asked with T templates, each answered by a label,

    consistency          = pairs of templates with the same answer / (T (T - 1) / 2)
    accuracy             = templates with the correct answer / T
    consistency-accuracy = pairs that agree and are right / (T (T - 1) / 2)

>>> shares = share_pairs([["Ulm", "Ulm", "Bern", "Bern"]], ["Ulm"])  # of 6, 4 and 6
>>> {name: values.round(3).item() for name, values in shares.items()}
{'consistency': 0.333, 'accuracy': 0.5, 'consistency_accuracy': 0.167}
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from polyprobe.metrics.shared.intervals import Labels
from polyprobe.metrics.shared.rows import check_length, summarize_counted

Predictions = Sequence[Sequence[str]]


def share_pairs(predictions: Predictions, references: Sequence[str]) -> dict[str, np.ndarray]:
    """Compute the three figures of each tuple; NaN where it has fewer than two templates."""
    check_length(references, len(predictions), "references")
    times = [Counter(row) for row in predictions]
    counts = np.array([len(row) for row in predictions], dtype=np.float64)
    right = np.array([count[label] for count, label in zip(times, references, strict=True)])
    agreeing = np.array([sum(n * (n - 1) for n in count.values()) for count in times])
    counts[counts < 2] = np.nan  # the paper's relations have two templates at least
    pairs = counts * (counts - 1)
    both_right = right * (right - 1) / pairs
    names = ("consistency", "accuracy", "consistency_accuracy")
    return dict(zip(names, (agreeing / pairs, right / counts, both_right), strict=True))


def find_ambiguous(
    subjects: Sequence[Hashable], references: Sequence[str], groups: Labels = None
) -> np.ndarray:
    """Mark the tuples (bool) whose subject occurs with several objects in its group."""
    places = list(zip(groups, subjects, strict=True)) if groups is not None else list(subjects)
    objects = defaultdict(set)
    for place, label in zip(places, references, strict=True):
        objects[place].add(label)
    return np.array([len(objects[place]) > 1 for place in places], dtype=bool)


def measure_consistency(
    predictions: Predictions,
    references: Sequence[str],
    subjects: Sequence[Hashable] | None = None,
    groups: Labels = None,
    **options: Any,
) -> dict[str, Any]:
    """Compute the three figures with intervals, and how many tuples are counted and left out."""
    shares = share_pairs(predictions, references)
    for name, column in {"subjects": subjects, "groups": groups}.items():
        if column is not None:
            check_length(column, len(predictions), name)
    several = ~np.isnan(shares["consistency"])
    ambiguous = np.zeros_like(several)
    if subjects is not None:
        ambiguous = find_ambiguous(subjects, references, groups)
    mask = several & ~ambiguous
    result = summarize_counted(shares, mask, groups=groups, **options)
    return {
        **result,
        "n_queries": int(mask.sum()),
        "n_single_template": int((~several & ~ambiguous).sum()),
        "n_ambiguous": int(ambiguous.sum()),  # those with one template too
    }
