"""Read scores or answers by language out of the tables of a Space.

Scores come as a line a candidate with a column a language, as lists in JSON, or as the files
scores/LANG.parquet of a run of polyprobe, a file a language. The folders of metrics/ hold this file
as a link, so that each of them is whole.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from polyprobe.metrics.shared.rows import mark_right
from polyprobe.metrics.space.sheet import (
    Sheet,
    need,
    read_lists,
    read_marks,
    read_numbers,
    read_only,
    read_texts,
)

_LINE = ("query", "candidate")


class LanguageScores(NamedTuple):
    """Scores by language, a row a query, and the right indices of each query.

    Attributes:
        rows: language to scores, a row a query, a score a candidate.
        answers: language to the right indices of each query; empty where they are not told.
        relations: of each query, where the files of a run tell it.
        clusters: of each query the fact that it asks for, where some ask for the same one: a fact's
            templates are drawn together.
    """

    rows: dict[str, list[np.ndarray]]
    answers: dict[str, list[list[int]]]
    relations: list[str] | None = None
    clusters: list[str] | None = None


class LanguageChoices(NamedTuple):
    """Chosen indices by language, one a query, with the right ones, and how they came about.

    Attributes:
        chosen: language to indices.
        answers: right indices of each query.
        right: probability that each query is right, of candidates that share the best score each
            being chosen as often [queries, languages].
        tied: best scores that are shared, over all languages.
        chance: of two random choices to be the same; None where pools are not known.
        clusters: as in LanguageScores.
    """

    chosen: dict[str, list[int]]
    answers: list[list[int]]
    right: np.ndarray
    tied: int = 0
    chance: float | None = None
    clusters: list[str] | None = None


def read_scores(sheets: Mapping[str, Sheet], marked: bool = False) -> LanguageScores:
    """Return scores by language; `marked` where it must be told which candidates are right."""
    if any("scores" in sheet for sheet in sheets.values()) or len(sheets) > 1:
        return _read_run(sheets)
    sheet = read_only(sheets)
    if "query" in sheet or "candidate" in sheet or not _holds_rows(sheet):
        return _read_lines(sheet, marked)
    rows = {name: _read_rows(cells, name) for name, cells in sheet.items() if name != "answers"}
    if marked and "answers" not in sheet:
        raise ValueError("no 'answers'; expected the right indices of each query: [[0], [2], …]")
    return LanguageScores(rows, dict.fromkeys(rows, sheet.get("answers")))


def read_aligned(sheets: Mapping[str, Sheet]) -> LanguageScores:
    """Return scores of two languages or more, which are about the same facts in the same order."""
    scores = read_scores(sheets)
    _check_languages(scores.rows)
    first, *others = scores.rows
    for name in others:
        _check_like(scores, first, name)
    return scores


def _check_like(scores: LanguageScores, first: str, name: str) -> None:
    """Refuse a language whose queries have other pools or other right answers than the first's."""
    pairs = enumerate(zip(scores.rows[first], scores.rows[name], strict=False), start=1)
    place = f"in {name!r} than in {first!r}; expected the same"
    for row in (row for row, (one, other) in pairs if len(one) != len(other)):
        raise ValueError(f"row {row} has other candidates {place}")
    answers, others = scores.answers.get(first) or [], scores.answers.get(name) or []
    pairs = enumerate(zip(answers, others, strict=False), start=1)
    for row in (row for row, (one, other) in pairs if [*one] != [*other]):
        raise ValueError(f"row {row} has other right answers {place}")
    pairs = enumerate(zip(scores.rows[name], answers, strict=False), start=1)
    for row in (row for row, (own, known) in pairs if not 0 <= min(known) <= max(known) < len(own)):
        raise ValueError(f"row {row}: a right answer is none of the candidates of {name!r}")


def read_language_choices(sheets: Mapping[str, Sheet]) -> LanguageChoices:
    """Return what each of two languages or more answers to each query.

    Out of scores it is the best candidate, the first of those that tie.
    """
    first = next(iter(sheets.values()))
    if len(sheets) == 1 and "right" in first and "candidate" not in first:
        chosen, answers = _read_answers(read_only(sheets))
        marks = [[i in a for i, a in zip(c, answers, strict=True)] for c in chosen.values()]
        return LanguageChoices(chosen, answers, np.array(marks, dtype=np.float64).T)
    scores = read_aligned(sheets)
    answers = next(iter(scores.answers.values()), None)
    if answers is None:
        need(read_only(sheets), "query", "right")
    chosen = {name: [int(r.argmax()) for r in rows] for name, rows in scores.rows.items()}
    best = [[row == row.max() for row in rows] for rows in scores.rows.values()]
    sizes = np.array([len(row) for row in best[0]])
    marks = np.split(mark_right(answers, sizes), np.cumsum(sizes)[:-1])
    right = [[m[b].mean() for m, b in zip(marks, rows, strict=True)] for rows in best]
    tied = sum(int(row.sum() > 1) for rows in best for row in rows)
    chance = float(np.mean(1 / sizes))
    return LanguageChoices(chosen, answers, np.array(right).T, tied, chance, scores.clusters)


def _read_lines(sheet: Sheet, marked: bool) -> LanguageScores:
    names = (*_LINE, "right") if marked else _LINE
    queries, candidates = (read_texts(need(sheet, *names)[i], _LINE[i]) for i in range(2))
    languages = [name for name in sheet if name not in (*_LINE, "right")]
    if not languages:
        raise ValueError(f"no column of scores; expected one a language behind {names[-1]!r}")
    lines: dict[str, dict[str, int]] = {}
    for line, (query, candidate) in enumerate(zip(queries, candidates, strict=True)):
        if candidate in lines.setdefault(query, {}):
            raise ValueError(
                f"row {line + 1}: {candidate!r} stands twice under {query!r}; expected candidates "
                "with different names"
            )
        lines[query][candidate] = line
    places = [[*found.values()] for found in lines.values()]
    columns = {name: read_numbers(sheet[name], name) for name in languages}
    rows = {name: [column[p] for p in places] for name, column in columns.items()}
    if "right" not in sheet:
        return LanguageScores(rows, {})
    marks = read_marks(sheet["right"], "right")
    right = [[i for i, line in enumerate(p) if marks[line]] for p in places]
    if [] in right:
        query = [*lines][right.index([])]
        raise ValueError(f"no candidate of {query!r} is right; mark one or more with 1 in 'right'")
    return LanguageScores(rows, dict.fromkeys(rows, right))


def _read_run(sheets: Mapping[str, Sheet]) -> LanguageScores:
    rows, answers = {}, {}
    facts = _read_facts(sheets)
    for name, sheet in sheets.items():
        try:
            cells, answers[name] = need(sheet, "scores", "answers")
        except ValueError as error:
            raise ValueError(f"{name}: {error}; several files must be those of a run") from None
        rows[name] = _read_rows(cells, name)
    several = facts is not None and len(set(facts)) < len(facts)
    relations = next(iter(sheets.values())).get("relation")
    return LanguageScores(rows, answers, relations, facts if several else None)


def _read_facts(sheets: Mapping[str, Sheet]) -> list[str] | None:
    """Return the facts that all files are about; other facts in one of them are an error."""
    facts = {name: sheet["fact_id"] for name, sheet in sheets.items() if "fact_id" in sheet}
    first = next(iter(facts), None)
    for name, ids in facts.items():
        if ids != facts[first]:
            raise ValueError(f"other facts in {name} than in {first}; expected the same, in order")
    return facts.get(first)


def _read_rows(cells: Sequence[Any], name: str) -> list[np.ndarray]:
    for row, cell in enumerate(cells, start=1):
        if not isinstance(cell, list) or not cell:
            raise ValueError(f"row {row} of {name!r} is {cell!r:.60}; expected a list of scores")
    sizes = [len(cell) for cell in cells]
    try:
        flat = read_numbers([score for cell in cells for score in cell], name)
    except ValueError:
        for row, cell in enumerate(cells, start=1):
            try:
                read_numbers(cell, name)
            except ValueError as error:
                raise ValueError(f"row {row} of {name!r}: score {error}"[:160]) from None
    return np.split(flat, np.cumsum(sizes)[:-1])


def _read_answers(sheet: Sheet) -> tuple[dict[str, list[int]], list[list[int]]]:
    """Give indices to the answers of a query as they first occur, the right ones first."""
    right = read_lists(need(sheet, "query", "right")[1], "right")
    languages = [name for name in sheet if name not in ("query", "right")]
    _check_languages(languages)
    texts = {name: read_texts(sheet[name], name) for name in languages}
    index = [
        {text: i for i, text in enumerate(dict.fromkeys([*known, *given]))}
        for known, *given in zip(right, *texts.values(), strict=True)
    ]
    chosen = {
        name: [names[text] for names, text in zip(index, given, strict=True)]
        for name, given in texts.items()
    }
    answers = [[names[t] for t in known] for names, known in zip(index, right, strict=True)]
    return chosen, answers


def _holds_rows(sheet: Sheet) -> bool:
    return bool(sheet) and all(cells and isinstance(cells[0], list) for cells in sheet.values())


def _check_languages(languages: Sequence[str] | Mapping[str, Any]) -> None:
    if len(languages) < 2:
        raise ValueError(f"{len(languages)} columns of languages; expected two or more to compare")
