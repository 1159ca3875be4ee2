"""Measure whether a model gives the same answer to paraphrases (consistency, mParaRel).

For a tuple (subject, object) that is asked with T templates, each answered by a label,

    consistency          = pairs of templates with the same answer / (T (T - 1) / 2)
    accuracy             = templates with the correct answer / T
    consistency-accuracy = pairs that agree and are right / (T (T - 1) / 2)

and a relation's figure is the mean over its tuples. A label given n times makes n (n - 1) / 2 of
the agreeing pairs, so the labels are counted and no pair is looked at.

>>> shares = share_pairs([["Ulm", "Ulm", "Bern", "Bern"]], ["Ulm"])
>>> shares.consistency, shares.accuracy, shares.consistency_accuracy  # of 6, 4 and 6
(array([0.33333333]), array([0.5]), array([0.16666667]))
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import datasets
import evaluate
import numpy as np

from polyprobe.metrics.shared.inputs import Module
from polyprobe.metrics.shared.intervals import Labels, share, summarize
from polyprobe.metrics.shared.rows import (
    check_length,
    check_lists,
    check_texts,
    count_by_group,
    pick_counted,
    take,
)

_DESCRIPTION = """\
Paraphrase consistency is the share of pairs of templates for the same fact to which a model gives \
the same answer; reported with its accuracy and the share of pairs that agree and are correct.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions (list of list of str): of each tuple (subject, object) of a relation the label that
        the model predicts with each template, any number of them.
    references (list of str): the label of its correct object.
    subjects (list, optional): of each tuple; those whose subject occurs with several objects in its
        group are left out, as in the paper.
    groups (list, optional): label of each tuple, usually its relation.
    average (str): macro (default), the unweighted mean over groups, or micro, over tuples.
    n_resamples (int): resamples of the bootstrap over tuples; default: 10000, or 1000
        above 50,000 values (tuples x figures); below 40: no intervals.
    seed (int): of the bootstrap; default: 0.
    clusters (list, optional): label of each tuple, such as its subject; the bootstrap draws whole
        clusters. Tuples about one subject should be drawn together.
    empty (str): value of a group without a counted tuple in the macro average: skip (default,
        as in the paper) or zero.

Returns:
    consistency, accuracy, consistency_accuracy (float or None): mean over the tuples with at least
        two templates, by group and then over groups; None without such a tuple.
    consistency_ci, accuracy_ci, consistency_accuracy_ci (list of float or None): 95% bootstrap
        intervals; None for a single tuple.
    by_group (dict): the same for each group, if `groups` is given.
    n_queries (int): the tuples that are counted.
    n_single_template (int): those left out because they have fewer than two templates.
    n_ambiguous (int): those left out because their subject has several objects.

Examples:
    >>> consistency = evaluate.load("paraphrase_consistency")
    >>> answers = [["Ulm", "Ulm", "Bern"], ["Paris", "Paris", "Paris"]]
    >>> result = consistency.compute(predictions=answers, references=["Ulm", "Rome"])
    >>> [round(result[name], 4) for name in ("consistency", "accuracy", "consistency_accuracy")]
    [0.6667, 0.3333, 0.1667]
"""

_CITATION = """\
@inproceedings{fierro-sogaard-2022-factual,
    title = "Factual Consistency of Multilingual Pretrained Language Models",
    author = "Fierro, Constanza and S{\\o}gaard, Anders",
    booktitle = "Findings of the Association for Computational Linguistics: ACL 2022",
    year = "2022",
    url = "https://aclanthology.org/2022.findings-acl.240",
}
@article{elazar-etal-2021-measuring,
    title = "Measuring and Improving Consistency in Pretrained Language Models",
    author = {Elazar, Yanai and Kassner, Nora and Ravfogel, Shauli and Ravichander, Abhilasha and
      Hovy, Eduard and Sch{\\"u}tze, Hinrich and Goldberg, Yoav},
    journal = "Transactions of the Association for Computational Linguistics", year = "2021",
    url = "https://aclanthology.org/2021.tacl-1.60",
}
"""

Predictions = Sequence[Sequence[str]]


class Shares(NamedTuple):
    """The figures of each tuple, in 0 … 1; NaN where it has fewer than two templates."""

    consistency: np.ndarray
    accuracy: np.ndarray
    consistency_accuracy: np.ndarray


def share_pairs(predictions: Predictions, references: Sequence[str]) -> Shares:
    """Return each tuple's consistency, accuracy and consistency-accuracy.

    Labels are compared as they are written. The accuracy of a tuple with one template would be
    defined, but the paper's relations are those with at least two, for all three figures.
    """
    check_lists(predictions, "predictions")
    check_texts(references, "references")
    check_length(references, len(predictions), "references")
    times = [Counter(row) for row in predictions]
    given = np.array([len(row) for row in predictions], dtype=np.float64)
    right = np.array([count[label] for count, label in zip(times, references, strict=True)])
    agreeing = np.array([sum(n * (n - 1) for n in count.values()) for count in times])
    given[given < 2] = np.nan
    pairs = given * (given - 1)
    return Shares(agreeing / pairs, right / given, right * (right - 1) / pairs)


def find_ambiguous(
    subjects: Sequence[Hashable], references: Sequence[str], groups: Labels = None
) -> np.ndarray:
    """Mark the tuples (bool) whose subject occurs with several objects in its group.

    A repeated tuple is not ambiguous.
    """
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
    clusters: Labels = None,
    **options: Any,
) -> dict[str, Any]:
    """Return the three figures with intervals, and how many tuples are counted and left out.

    `groups`, `clusters` and `options` are those of `intervals.Resampling`. A tuple that is
    ambiguous and has one template is counted as ambiguous.
    """
    shares = share_pairs(predictions, references)
    for name, column in {"subjects": subjects, "groups": groups, "clusters": clusters}.items():
        if column is not None:
            check_length(column, len(predictions), name)
    several = ~np.isnan(shares.consistency)
    ambiguous = np.zeros_like(several)
    if subjects is not None:
        ambiguous = find_ambiguous(subjects, references, groups)
    counted = several & ~ambiguous
    places = pick_counted(counted, groups)
    parts = shares._asdict().items()
    measures = {name: share(np.where(counted, v, np.nan)[places]) for name, v in parts}
    options |= {"groups": take(groups, places), "clusters": take(clusters, places)}
    result = summarize(measures, **options)
    if groups is not None:
        for group, size in count_by_group(counted, groups).items():
            result["by_group"][group]["n_queries"] = size
    return {
        **result,
        "n_queries": int(counted.sum()),
        "n_single_template": int((~several & ~ambiguous).sum()),
        "n_ambiguous": int(ambiguous.sum()),
    }


class ParaphraseConsistency(Module):
    """Compare the answers to a fact's templates with each other and with the correct one."""

    measure = staticmethod(measure_consistency)

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        features = datasets.Features({"predictions": datasets.Sequence(text), "references": text})
        return evaluate.MetricInfo(_DESCRIPTION, _CITATION, features, _KWARGS_DESCRIPTION)
