"""Show accuracy@1 in the browser: a table of scores in, a row for every language out."""

import csv
from io import StringIO
from pathlib import Path

import evaluate

TIES = ["expected", "released"]
HEADERS = ["language", "accuracy_at_1", "chance", "queries", "tied"]
EXAMPLE = """\
query,candidate,right,English,Spanish
The Godfather,Italian,0,-1.2,-0.9
The Godfather,English,1,-0.9,-3.5
The Godfather,Russian,0,-4.0,-2.2
Capital of Kenya,Nairobi,1,-0.4,-1.8
Capital of Kenya,Mombasa,0,-2.0,-1.8
"""
HELP = """\
# Accuracy@1
How often is the best-scored candidate a right one? Paste a table with one line a candidate (comma,
semicolon or tab): `query`, `candidate`, `right` (1 or 0), then one column of scores a language.
"""


def read_scores(text: str) -> tuple[dict[str, list[list[float]]], list[list[int]]]:
    """Return the scores, a row a query, of each language, and the right indices of each query.

    The lines of a query need not stand together; candidates keep the order of their lines.
    """
    (_, _, _, *languages), lines = _read_lines(text, "query, candidate, right, languages")
    queries: dict[str, list[list[float]]] = {}
    for number, (query, _, *cells) in enumerate(lines, start=1):
        queries.setdefault(query, []).append(_read_numbers(cells, number))
    columns = [list(map(list, zip(*rows, strict=True))) for rows in queries.values()]
    answers = [[i for i, mark in enumerate(right) if mark] for right, *_ in columns]
    scores = {name: [column[i] for column in columns] for i, name in enumerate(languages, start=1)}
    return scores, answers


def measure(text: str, ties: str = "expected") -> list[list[str | float | int]]:
    """Return a row of HEADERS for every language in the text."""
    scores, answers = read_scores(text)
    module = Path(__file__).resolve().with_name("accuracy_at_1.py")
    metric = evaluate.load(str(module), keep_in_memory=True)
    rows = []
    for language, predictions in scores.items():
        result = metric.compute(predictions=predictions, answers=answers, ties=ties)
        values = [round(result[name], 4) for name in HEADERS[1:3]]
        rows.append([language, *values, result["n_queries"], result["n_tied"]])
    return rows


def _read_lines(text: str, columns: str) -> tuple[list[str], list[list[str]]]:
    """Return the header and the lines that are not blank, all of one width."""
    delimiter = max("\t;,", key=text.lstrip().partition("\n")[0].count)
    lines = csv.reader(StringIO(text.lstrip()), delimiter=delimiter, skipinitialspace=True)
    header, *rows = [*filter(any, lines)] or [[]]
    if len(header) <= columns.count(","):
        raise ValueError(f"the first line is {delimiter.join(header)!r}; expected {columns}")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise ValueError(f"line {number} has {len(row)} cells; expected {len(header)}")
    return header, rows


def _read_numbers(cells: list[str], number: int) -> list[float]:
    try:
        return [float(cell) for cell in cells]
    except ValueError as error:
        raise ValueError(f"line {number}: {error}; expected numbers") from None


def build():
    """Return the page (gradio is needed only here)."""
    import gradio

    def answer(text, ties):
        try:
            return measure(text, ties)
        except ValueError as error:
            raise gradio.Error(str(error), print_exception=False) from error

    with gradio.Blocks(title="Accuracy@1") as page:
        gradio.Markdown(HELP)
        text = gradio.Textbox(EXAMPLE, lines=10, label="scores")
        ties = gradio.Dropdown(TIES, value="expected", label="equal best scores")
        button = gradio.Button("Measure", variant="primary")
        table = gradio.Dataframe(headers=HEADERS, label="every language")
        button.click(answer, [text, ties], table)
    return page


if __name__ == "__main__":
    build().launch()
