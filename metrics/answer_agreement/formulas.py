"""Measure how often a model chooses the same candidate in different languages, right or wrong.

>>> result = measure_agreement([[0, 0, 1], [2, 2, 2]], references=[[0], [1]], n_resamples=0)
>>> result["agreement"], result["agree_right"], result["agree_wrong"]  # 1 and 3 of 3 pairs agree
(0.6666666666666666, 0.16666666666666666, 0.5)
>>> result["pairs"]["0-1"]["agreement"], result["k_correct"]
(1.0, [1, 0, 1, 0])
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from polyprobe.metrics.shared.intervals import (
    Figure,
    Ratio,
    Resampling,
    choose_resamples,
    divide,
    estimate,
    index_labels,
    mean_of,
    name_pairs,
    share,
    summarize,
)
from polyprobe.metrics.shared.ranks import split_by_size
from polyprobe.metrics.shared.rows import (
    Answers,
    Choices,
    Scores,
    check_answers,
    check_length,
    find_right,
    name_languages,
    read_choices,
    read_languages,
)
from polyprobe.metrics.shared.verdicts import number_answers

_TABLE = 2**22  # values of a table at once
_LARGEST = 2**31 - 1  # pool of candidates


def measure_agreement(
    predictions: Choices,
    languages: Sequence[str] | None = None,
    references: Answers | None = None,
    n_candidates: Sequence[int] | None = None,
    names: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """Compute agreement, its parts and kappa over all languages, and agreement pair by pair."""
    if names is not None:  # predictions are free answers, references entities
        predictions, references = number_answers(predictions, languages, names, references)
    choices = read_choices(predictions)
    columns = name_languages(languages, choices.shape[1])
    counts = {"n_queries": len(choices), "n_languages": len(columns)}
    right = None
    if references is not None:
        right = find_right(choices, check_answers(references, len(choices)))
    parts = divide_pairs(choices, right)
    shares: dict[str, Any] = {name: part.mean(axis=1) for name, part in parts.items()}
    if right is not None:
        shares |= {"right_in_all": right.all(axis=1), "right_in_any": right.any(axis=1)}
        in_languages = np.bincount(right.sum(axis=1), minlength=len(columns) + 1)
        counts = {"k_correct": in_languages.tolist(), **counts}
    if options.get("n_resamples") is None:  # the same number for all figures
        options["n_resamples"] = choose_resamples(*parts["agreement"].shape)
    resampling = Resampling(**options)
    fleiss: dict[str, Any] = {}
    measures: dict[str, Any] = {name: share(values) for name, values in shares.items()}
    if n_candidates is None:
        fleiss = estimate_fleiss(choices, shares["agreement"], resampling)
    else:
        sizes = check_pools(n_candidates, choices, len(names or ()) or _LARGEST)
        measures["kappa"] = correct_chance(shares["agreement"], sizes)
        counts["n_kappa"] = int((sizes > 1).sum())
    figures = summarize(measures, **options)
    for group, values in fleiss.pop("by_group", {}).items():
        figures["by_group"][group] |= values
    pairs = report_pairs(columns, parts, resampling)
    return {**figures, **fleiss, "pairs": pairs, **counts}


def divide_pairs(choices: np.ndarray, right: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """Compute `agreement` and, with the correct answers, its five parts, bool [facts, pairs]."""
    i, j = np.triu_indices(choices.shape[1], k=1)
    # small numbers are compared several times as fast
    small = np.unique(choices, return_inverse=True)[1].reshape(choices.shape)
    small = small.astype(np.min_scalar_type(small.max()))
    same = small[:, i] == small[:, j]
    if right is None:
        return {"agreement": same}
    first, second = right[:, i], right[:, j]
    return {
        "agreement": same,
        "agree_right": same & first,
        "agree_wrong": same & ~first,
        "one_right": first ^ second,
        "both_wrong_different": ~(same | first | second),
        "both_right_different": ~same & first & second,
    }


def check_pools(
    n_candidates: Sequence[int], choices: np.ndarray, n_entities: int = _LARGEST
) -> np.ndarray:
    """Read the pool sizes as an array; each is at least the number of different choices."""
    check_length(n_candidates, len(choices), "n_candidates")
    # free answers from `n_entities` on name no candidate
    entities = np.where(choices < n_entities, choices, choices.min(axis=1, keepdims=True))
    different = 1 + (np.diff(np.sort(entities, axis=1), axis=1) > 0).sum(axis=1)
    for query, (size, minimum) in enumerate(zip(n_candidates, different, strict=True)):
        number = isinstance(size, int | np.integer) and not isinstance(size, bool)
        if not number or not minimum <= size <= _LARGEST:
            raise ValueError(
                f"query {query} has {size!r:.60} in 'n_candidates', {minimum} different choices in "
                "'predictions'; expected the number of its candidates"
            )
    return np.asarray(n_candidates, dtype=np.intp)


def correct_chance(agreement: np.ndarray, sizes: np.ndarray) -> Ratio:
    """Compute kappa, a ratio of sums over facts, from each fact's agreement and pool size N.

    (P - P_e) / (1 - P_e): P is the mean agreement of all pairs of languages, P_e the mean of 1 / N,
    the agreement of uniform random choices. With equal pools it is the free-marginal kappa of
    Brennan and Prediger (1981), for many raters of Randolph (2005). A fact with one candidate adds
    0 to P - P_e and to 1 - P_e.
    """
    chance = 1 / sizes
    return Ratio((sizes > 1) * (agreement - chance), 1 - chance)


def estimate_fleiss(
    choices: np.ndarray, agreement: np.ndarray, options: Resampling
) -> dict[str, Any]:
    """Compute `fleiss_kappa` of all languages and by group, with intervals."""
    indices, places = np.unique(choices, return_inverse=True)
    # One cell for each fact and index: a count of both in one bincount.
    cells = np.arange(len(choices))[:, None] * len(indices) + places.reshape(choices.shape)
    counts = np.bincount(cells.ravel(), minlength=len(choices) * len(indices))
    shares = counts.reshape(len(choices), -1) / choices.shape[1]
    table = np.column_stack([agreement, shares])
    figure = Figure(["fleiss_kappa"], table, compute_fleiss)
    # Over all facts whatever `average` says: chance agreement is estimated from the same choices,
    # which lowers kappa in small groups, and a mean over groups would sum that up.
    return estimate(figure, options._replace(average="micro"))


def compute_fleiss(sums: np.ndarray) -> np.ndarray:
    """Compute Fleiss' kappa [..., 1] from sums over facts [..., 1 + indices]; NaN where P_e is 1.

    The sums are those of the agreement of all pairs and of the share of languages that choose index
    j. Kappa is (P - P_e) / (1 - P_e): P the mean agreement, P_e = sum_j p_j^2 with p_j the share of
    index j among all choices (Fleiss 1971).
    """
    facts = sums[..., 1:].sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = ((sums[..., 1:] / facts) ** 2).sum(axis=-1, keepdims=True)
        return np.where(chance < 1, (sums[..., :1] / facts - chance) / (1 - chance), np.nan)


def report_pairs(
    names: Sequence[str], parts: Mapping[str, np.ndarray], options: Resampling
) -> dict[str, dict[str, Any]]:
    """Compute the averages of `divide_pairs` by pair of languages, with agreement's interval."""
    groups = options.groups if options.average == "macro" else None
    codes = index_labels(groups, len(parts["agreement"]), "groups")[1]
    sizes = np.bincount(codes)
    weights = 1 / (len(sizes) * sizes[codes])
    columns = {name: (weights @ part).tolist() for name, part in parts.items()}
    if options.n_resamples:
        bounds = bound_pairs(parts["agreement"], options)
        columns = {"agreement": columns["agreement"], "agreement_ci": bounds, **columns}
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return dict(zip(map("-".join, combinations(names, 2)), rows, strict=True))


def bound_pairs(same: np.ndarray, options: Resampling) -> list[list[float] | None]:
    """Compute the 95% interval of the average of each column, as `intervals.estimate` draws it."""
    # A few pairs at a time: resamples x groups x pairs must fit into memory.
    groups = 1 if options.groups is None else len(set(options.groups))
    step = max(1, _TABLE // ((options.n_resamples or 1) * groups))
    intervals = []
    for start in range(0, same.shape[1], step):
        part = same[:, start : start + step]
        names = [str(pair) for pair in range(part.shape[1])]
        figure = mean_of(names, part, np.ones(len(part)), share=True)
        bounds = estimate(figure, options, by_group=False)
        intervals += [bounds[f"{name}_ci"] for name in names]
    return intervals


def agreement_per_query(scores: Mapping[str, Scores], choices: bool = False) -> np.ndarray:
    """Compute the expected agreement of each query for all pairs of languages [queries, pairs].

    The probability that two languages choose the same candidate, sum_i p_l(i) p_l2(i): each chooses
    one of its t best-scored candidates with probability 1 / t, independently of the others. Scores
    are as `rows.read_languages` takes them, pairs in the order of `itertools.combinations`. If they
    are `choices`, 1 for the candidate, a query with 0 alone agrees with no other.
    """
    languages, sizes = read_languages(scores)
    n_languages, pairs = len(languages), np.triu_indices(len(languages), k=1)
    values = np.empty((len(sizes), len(pairs[0])))
    for _, queries, items in split_by_size(sizes, lambda n: n_languages * max(n, n_languages)):
        tables = np.stack([flat[items] for flat in languages], axis=1)
        best = tables == tables.max(axis=2, keepdims=True)
        shares = tables if choices else best / best.sum(axis=2, keepdims=True)
        values[queries] = (shares @ shares.transpose(0, 2, 1))[:, *pairs]
    return values


def find_agreement(scores: Mapping[str, Scores], choices: bool = False) -> Figure:
    """Compute the share of facts on which both languages of a pair choose the same candidate."""
    values = agreement_per_query(scores, choices)
    return mean_of(name_pairs(list(scores)), values, np.ones(len(values)), share=True)


def find_kappa(scores: Mapping[str, Scores], choices: bool = False) -> Figure:
    """Compute kappa of all languages by `correct_chance`, over facts with several candidates."""
    agreement = agreement_per_query(scores, choices).mean(axis=1)
    sums = correct_chance(agreement, read_languages(scores)[1])
    return Figure(["kappa"], np.column_stack(sums[:2]), divide)
