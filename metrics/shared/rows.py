"""Read and check the input of metrics: scores, candidates, answers.

Scores become one flat array and the sizes of the rows. Infinite scores are valid.

>>> read_rows([[3.0, 2.0], [1.0]], "predictions")
(array([3., 2., 1.]), array([2, 1]))
>>> find_right(read_choices([[0, 2], [1, 1]]), [[0, 2], [0]])
array([[ True,  True],
       [False, False]])
"""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np


class Rows(NamedTuple):
    """Validated rows, as `read_rows` returns them; it passes them through unread."""

    flat: np.ndarray
    sizes: np.ndarray


Scores = np.ndarray | Sequence[Sequence[float]] | Rows
Answers = Sequence[Sequence[int]]
Choices = Sequence[Sequence[int]] | np.ndarray

TIES = ("expected", "released")
_LAST = 2**31 - 1  # index; products of larger ones and queries could overflow


def read_rows(rows: Scores, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Read all scores as a flat array (float) and the number of candidates of each query."""
    if isinstance(rows, Rows):
        return rows
    if isinstance(rows, np.ndarray) and rows.ndim == 2:
        flat, sizes = _read_array(rows, name)
    else:
        flat, sizes = _read_lists(rows, name)
    if not len(sizes):
        raise ValueError(f"no queries in {name!r}")
    for query in np.flatnonzero(sizes == 0)[:1]:
        text = f"query {query} of {name!r} has no scores; expected one for each candidate"
        raise ValueError(text)
    for query in np.repeat(np.arange(len(sizes)), sizes)[np.isnan(flat)][:1]:
        raise ValueError(f"NaN among the scores of query {query} in {name!r}; expected numbers")
    return flat, sizes


def read_languages(scores: Mapping[str, Scores]) -> tuple[list[np.ndarray], np.ndarray]:
    """Read the flat scores of each language, and the pool sizes that all languages share."""
    if not scores:
        raise ValueError("no languages: expected a mapping from language to scores")
    languages: list[np.ndarray] = []
    for name, rows in scores.items():
        flat, row_sizes = read_rows(rows, name)
        if not languages:
            first, sizes = name, row_sizes
        if len(row_sizes) != len(sizes):
            raise ValueError(f"{len(sizes)} queries in {first!r}, {len(row_sizes)} in {name!r}")
        for query in np.flatnonzero(row_sizes != sizes)[:1]:
            raise ValueError(
                f"query {query} has {sizes[query]} candidates in {first!r}, {row_sizes[query]} in "
                f"{name!r}; expected scores of the same candidates in the same order"
            )
        languages.append(flat)
    return languages, sizes


def mark_right(
    answers: Answers | None, sizes: np.ndarray, name: str = "references", minimum: int = 1
) -> np.ndarray:
    """Mark the correct candidates (bool) of all queries, flat; `minimum` of each."""
    answers = check_answers(answers, len(sizes), name, minimum)
    queries: np.ndarray = np.repeat(np.arange(len(sizes)), [len(right) for right in answers])
    indices = np.array(list(chain.from_iterable(answers)), dtype=np.intp)
    for wrong in np.flatnonzero(indices >= sizes[queries])[:1]:
        query = queries[wrong]
        raise ValueError(
            f"answer {indices[wrong]} of query {query} is out of range; expected 0 to "
            f"{sizes[query] - 1}, as it has {sizes[query]} candidates"
        )
    mask = np.zeros(sizes.sum(), dtype=bool)
    mask[(sizes.cumsum() - sizes)[queries] + indices] = True
    return mask


def check_answers(
    answers: Answers | Sequence[int] | None, size: int, name: str = "references", minimum: int = 1
) -> Answers:
    """List the answers of each query, `minimum` or more; a single index is a list of one."""
    if answers is None:
        raise ValueError(f"no {name}; pass {name}=[[right indices of query 0], …]")
    check_length(answers, size, name)
    lists = [[right] if isinstance(right, int | np.integer) else right for right in answers]
    for query, right in enumerate(lists):
        if not hasattr(right, "__len__"):
            text = f"{name} of query {query} are {right!r:.80}; expected a list of indices"
            raise ValueError(text)
        if len(right) < minimum:
            raise ValueError(f"query {query} has no correct answer; expected at least one index")
    for index in chain.from_iterable(lists):
        if not _is_index(index):
            text = f"answer {index!r:.80} is not an index; expected integers from 0 to {_LAST}"
            raise ValueError(text)
    return lists


def _is_index(value: Any) -> bool:
    number = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return number and 0 <= value <= _LAST


def _read_array(rows: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    values = np.ma.getdata(rows)
    values = values if values.dtype.kind == "f" else values.astype(np.float64)
    if np.ma.getmask(rows) is np.ma.nomask:
        return values.ravel(), np.full(len(rows), rows.shape[1])
    present = ~np.ma.getmaskarray(rows)
    sizes = present.sum(axis=1)
    # Positions are candidates: a gap inside a row would shift those behind it.
    padded = present != (np.arange(rows.shape[1]) < sizes[:, None])
    for query in np.flatnonzero(padded.any(axis=1))[:1]:
        raise ValueError(f"query {query} of {name!r} is masked before its end; pad at the end")
    return values[present], sizes


def _read_lists(rows: Scores, name: str) -> tuple[np.ndarray, np.ndarray]:
    for query, row in enumerate(rows):
        if not hasattr(row, "__len__"):
            raise ValueError(f"query {query} of {name!r} is {row!r:.80}; expected a list of scores")
    sizes = np.array([len(row) for row in rows], dtype=np.intp)
    flat = np.array(list(chain.from_iterable(rows)), dtype=np.float64)
    if flat.ndim != 1:
        raise ValueError(f"scores of {name!r} are nested too deep; expected queries x candidates")
    return flat, sizes


def read_choices(predictions: Choices) -> np.ndarray:
    """Read the chosen indices as (facts x languages), for at least two languages."""
    if not len(predictions):
        raise ValueError("no queries in 'predictions'")
    for query, row in enumerate(predictions):
        if len(row) != len(predictions[0]):
            raise ValueError(
                f"{len(predictions[0])} languages in query 0 of 'predictions', {len(row)} in query "
                f"{query}; expected one index for each language"
            )
    if len(predictions[0]) < 2:
        raise ValueError(f"{len(predictions[0])} languages in 'predictions'; expected two or more")
    return read_indices(predictions, "predictions")


def read_indices(values: Sequence[Any] | np.ndarray, name: str) -> np.ndarray:
    """Read the chosen indices of a column."""
    indices = np.array(values)
    if indices.dtype.kind == "U":
        raise ValueError(
            f"{name!r} has texts; pass names={{entity: {{language: names}}}} with them"
        )
    for place in np.argwhere((indices < 0) | (indices > _LAST))[:1]:
        text = f"query {place[0]} of {name!r} has {indices[*place]}"
        raise ValueError(f"{text}; expected an index from 0 to {_LAST}")
    return indices.astype(np.intp)


def name_languages(languages: Sequence[str] | None, n_languages: int) -> list[str]:
    """List one name for each column; default: 0, 1, 2, and so on."""
    if languages is None:
        return [str(column) for column in range(n_languages)]
    listed = hasattr(languages, "__len__") and not isinstance(languages, str)
    if not listed or len(languages) != n_languages:
        raise ValueError(
            f"{languages!r:.80} in 'languages', {n_languages} columns in 'predictions'; expected "
            "one name for each column"
        )
    for name in languages:
        if list(languages).count(name) > 1:
            raise ValueError(f"{name!r} appears twice in 'languages'; expected unique names")
    return [str(name) for name in languages]


def find_right(choices: np.ndarray, answers: Sequence[Sequence[int]]) -> np.ndarray:
    """Mark the correct choices (facts x languages, bool), by answers of `check_answers`."""
    facts: np.ndarray = np.repeat(np.arange(len(answers)), [len(right) for right in answers])
    indices = np.array(list(chain.from_iterable(answers)))
    # Number each pair of fact and index: one membership test serves all.
    span = max(indices.max(), choices.max()) + 1
    return np.isin(np.arange(len(choices))[:, None] * span + choices, facts * span + indices)


def check_length(column: Sequence[Any], size: int, name: str) -> None:
    """Raise ValueError unless a column has `size` entries and at least one."""
    if isinstance(column, str) or not hasattr(column, "__len__"):
        text = f"{name!r} is {column!r:.80}; expected a list with an entry for each query"
        raise ValueError(text)
    if len(column) != size:
        raise ValueError(f"{size} queries in 'predictions', {len(column)} in {name!r}")
    if not size:
        raise ValueError(f"no queries in {name!r}")


def check_texts(column: Sequence[Any], size: int, name: str) -> None:
    """Raise ValueError unless a column has `size` texts."""
    check_length(column, size, name)
    for query, text in enumerate(column):
        if not isinstance(text, str):
            raise ValueError(f"query {query} of {name!r} is {text!r:.60}; expected a text")


def read_depths(k: int | Collection[int]) -> list[int]:
    """List the unique depths k (of recall@k, of a top k)."""
    depths = [*k] if isinstance(k, Collection) and not isinstance(k, str) else [k]
    if not depths:
        raise ValueError("no depths in 'k'; expected one or more, such as [1, 5, 10]")
    for depth in depths:
        if not _is_index(depth) or depth < 1:
            text = f"depth {depth!r:.60} in 'k' is invalid; expected integers from 1 to {_LAST}"
            raise ValueError(text)
    return [int(depth) for depth in dict.fromkeys(depths)]


def summarize_counted(
    measures: Mapping[str, np.ndarray], mask: np.ndarray, **options: Any
) -> dict[str, Any]:
    """Compute the means of shares over the queries of a mask, by `intervals.summarize`.

    The bootstrap draws from these only: in a draw from all, a group's only query that counts would
    often be missing, and the group with it. A group without one keeps its first query, as an
    undefined value: the group then appears in the results, and the macro average can count it as 0
    or skip it. `n_queries` of a group is the number of those that count.
    """
    # here: it imports scipy
    from polyprobe.metrics.shared.intervals import index_labels, share, summarize

    for name in ("groups", "clusters"):
        if options.get(name) is not None:
            check_length(options[name], len(mask), name)
    names, codes = index_labels(options.get("groups"), len(mask), "groups")
    starts, sizes = np.unique(codes, return_index=True)[1], np.bincount(codes, mask)
    places = sorted({*np.flatnonzero(mask).tolist(), *starts[sizes == 0].tolist()})
    options |= {name: take(options.get(name), places) for name in ("groups", "clusters")}
    parts = {name: share(np.where(mask, x, np.nan)[places]) for name, x in measures.items()}
    result = summarize(parts, **options)
    for name, figures in result.get("by_group", {}).items():
        figures["n_queries"] = int(sizes[names.index(name)])
    return result


def take(labels: Sequence[Hashable] | None, places: Iterable[int]) -> list[Hashable] | None:
    """Take the labels at some indices; None for None."""
    return None if labels is None else [labels[place] for place in places]
