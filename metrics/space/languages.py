"""Read scores or answers by language from the tables of a Space.

Several files are those of a polyprobe run, scores/LANG.parquet.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from polyprobe.metrics.shared.rows import mark_right
from polyprobe.metrics.space.sheet import (
    Sheet,
    Sheets,
    need,
    read_lists,
    read_marks,
    read_numbers,
    read_only,
    read_texts,
)

_LINE = ("query", "candidate")


class LanguageScores(NamedTuple):
    """Scores by language, one row for each query."""

    rows: dict[str, list[np.ndarray]]
    answers: dict[str, list[list[int]]]  # indices of the correct candidates; empty if unknown
    relations: list[str] | None = None  # of the facts of a run
    clusters: list[str] | None = None  # facts, if several queries have the same: its templates


class LanguageChoices(NamedTuple):
    """Chosen indices by language, one for each query, and the correct ones."""

    indices: dict[str, list[int]]
    answers: list[list[int]]
    # Probabilities [queries, languages]: candidates that share the best score, which happens `tied`
    # times, are chosen equally often.
    right: np.ndarray
    tied: int = 0
    sizes: list[int] | None = None  # numbers of candidates
    clusters: list[str] | None = None  # as in LanguageScores


def read_scores(sheets: Sheets, need_right: bool = False) -> LanguageScores:
    """Read scores by language; with `need_right`, the correct candidates are required."""
    if any("scores" in sheet for sheet in sheets.values()) or len(sheets) > 1:
        return _read_run(sheets)
    sheet = read_only(sheets)
    of_lists = all(cells and isinstance(cells[0], list) for cells in sheet.values())
    if "query" in sheet or "candidate" in sheet or not sheet or not of_lists:
        return _read_lines(sheet, need_right)
    rows = {name: _read_rows(cells, name) for name, cells in sheet.items() if name != "answers"}
    if need_right and "answers" not in sheet:
        raise ValueError("no 'answers'; expected the right indices of each query: [[0], [2], …]")
    answers = dict.fromkeys(rows, sheet["answers"]) if "answers" in sheet else {}
    return LanguageScores(rows, answers)


def read_aligned(sheets: Sheets) -> LanguageScores:
    """Read scores of at least two languages with the same facts in the same order."""
    scores = read_scores(sheets)
    _check_languages(scores.rows)
    first = next(iter(scores.rows))
    sizes = {name: [len(row) for row in rows] for name, rows in scores.rows.items()}
    answers = {name: [*map(list, rows)] for name, rows in scores.answers.items()}
    for kind, columns in (("candidates", sizes), ("correct answers", answers)):
        for name, column in columns.items():
            for row, (expected, value) in enumerate(zip(columns[first], column, strict=False), 1):
                if expected != value:
                    place = f"in {name!r} than in {first!r}; expected the same"
                    raise ValueError(f"row {row} has other {kind} {place}")
    return scores


def read_language_choices(sheets: Sheets) -> LanguageChoices:
    """Read the choices of at least two languages; of scores the best, the first of several."""
    first = next(iter(sheets.values()))
    if len(sheets) == 1 and "right" in first and "candidate" not in first:
        return _read_answers(first)
    scores = read_aligned(sheets)
    answers = next(iter(scores.answers.values()), [])
    if not answers:
        read_only(sheets, "query", "right")
    choices = {name: [int(r.argmax()) for r in rows] for name, rows in scores.rows.items()}
    best = [[row == row.max() for row in rows] for rows in scores.rows.values()]
    sizes = np.array([len(row) for row in best[0]])
    marks = np.split(mark_right(answers, sizes), np.cumsum(sizes)[:-1])
    right = [[m[b].mean() for m, b in zip(marks, rows, strict=True)] for rows in best]
    tied = sum(int(row.sum() > 1) for rows in best for row in rows)
    probabilities = np.array(right).T
    return LanguageChoices(choices, answers, probabilities, tied, sizes.tolist(), scores.clusters)


def _read_lines(sheet: Sheet, need_right: bool) -> LanguageScores:
    names = (*_LINE, "right") if need_right else _LINE
    queries, candidates = (read_texts(need(sheet, *names)[i], _LINE[i]) for i in range(2))
    languages = [name for name in sheet if name not in (*_LINE, "right")]
    if not languages:
        raise ValueError(f"no column of scores; expected one for each language after {names[-1]!r}")
    lines: dict[str, dict[str, int]] = {}
    for line, (query, candidate) in enumerate(zip(queries, candidates, strict=True)):
        if candidate in lines.setdefault(query, {}):
            raise ValueError(
                f"row {line + 1}: {candidate!r} appears twice under {query!r}; expected candidates "
                "with different names"
            )
        lines[query][candidate] = line
    places = [[*of_query.values()] for of_query in lines.values()]
    columns = {name: read_numbers(sheet[name], name) for name in languages}
    rows = {name: [column[p] for p in places] for name, column in columns.items()}
    if "right" not in sheet:
        return LanguageScores(rows, {})
    marks = read_marks(sheet["right"], "right")
    right = [[i for i, line in enumerate(p) if marks[line]] for p in places]
    if [] in right:
        query = f"no candidate of {[*lines][right.index([])]!r} is correct"
        raise ValueError(f"{query}; mark one or more with 1 in 'right'")
    return LanguageScores(rows, dict.fromkeys(rows, right))


def need_run(sheets: Sheets, *names: str) -> None:
    """Refuse files of which one lacks a column: several files must be those of a run."""
    for file, sheet in sheets.items():
        try:
            need(sheet, *names)
        except ValueError as error:
            raise ValueError(f"{file}: {error}; several files must be those of a run") from None


def _read_run(sheets: Sheets) -> LanguageScores:
    facts = {name: sheet["fact_id"] for name, sheet in sheets.items() if "fact_id" in sheet}
    first = next(iter(facts), "")
    for name, ids in facts.items():
        if ids != facts[first]:
            raise ValueError(f"other facts in {name} than in {first}; expected the same, in order")
    need_run(sheets, "scores", "answers")
    rows = {name: _read_rows(sheet["scores"], name) for name, sheet in sheets.items()}
    answers = {name: sheet["answers"] for name, sheet in sheets.items()}
    relations, ids = next(iter(sheets.values())).get("relation"), facts.get(first, [])
    return LanguageScores(rows, answers, relations, ids if len(set(ids)) < len(ids) else None)


def _read_rows(cells: Sequence[Any], name: str) -> list[np.ndarray]:
    rows = []
    for row, cell in enumerate(cells, start=1):
        if not isinstance(cell, list) or not cell:
            raise ValueError(f"row {row} of {name!r} is {cell!r:.60}; expected a list of scores")
        try:
            rows.append(read_numbers(cell, name))
        except ValueError as error:
            raise ValueError(f"row {row} of {name!r}: score {error}"[:160]) from None
    return rows


def _read_answers(sheet: Sheet) -> LanguageChoices:
    """Number the answers of each query by first occurrence, the correct ones first."""
    right = read_lists(need(sheet, "query", "right")[1], "right")
    languages = [name for name in sheet if name not in ("query", "right")]
    _check_languages(languages)
    texts = {name: read_texts(sheet[name], name) for name in languages}
    index = [
        {text: i for i, text in enumerate(dict.fromkeys([*correct, *predictions]))}
        for correct, *predictions in zip(right, *texts.values(), strict=True)
    ]
    choices = {
        name: [names[text] for names, text in zip(index, predictions, strict=True)]
        for name, predictions in texts.items()
    }
    answers = [[names[t] for t in correct] for names, correct in zip(index, right, strict=True)]
    hits = [[i in a for i, a in zip(c, answers, strict=True)] for c in choices.values()]
    return LanguageChoices(choices, answers, np.array(hits, dtype=np.float64).T)


def _check_languages(languages: Sequence[str] | Mapping[str, Any]) -> None:
    if len(languages) < 2:
        raise ValueError(f"{len(languages)} columns of languages; expected two or more to compare")
