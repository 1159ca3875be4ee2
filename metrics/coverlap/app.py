"""Show COverlap in the browser: a table of predicted answers in, a row for every pair out."""

import csv
from io import StringIO
from itertools import combinations
from pathlib import Path

import evaluate

HEADERS = ["languages", "coverlap", "both", "either", "queries"]
EXAMPLE = """\
query,right,English,Spanish,Finnish
Capital of Kenya,Nairobi,Nairobi,Nairobi,Mombasa
Official language of Canada,English|French,English,French,Cree
Continent of Peru,South America,South America,Africa,Africa
"""
HELP = """\
# COverlap
Which facts does a model get right in both of two languages, out of those it gets right in either?
Paste a table with one line a query (comma, semicolon or tab): `query`, `right` answers (`|` between
several), then one column of predicted answers a language. Names or numbers, as you like: a
prediction is right if it reads like one of the right answers.
"""


def read_predictions(text: str) -> tuple[dict[str, list[int]], list[list[int]]]:
    """Return the predicted index of each query in each language, and the right indices.

    Indices are given to the answers of a line in the order in which they first occur.
    """
    (_, _, *languages), lines = _read_lines(text, "query, right, languages")
    predictions: dict[str, list[int]] = {name: [] for name in languages}
    answers = []
    for _, right, *cells in lines:
        known = [name.strip() for name in right.split("|") if name.strip()]
        index = {name: i for i, name in enumerate(dict.fromkeys([*known, *map(str.strip, cells)]))}
        answers.append([index[name] for name in known])
        for language, cell in zip(languages, cells, strict=True):
            predictions[language].append(index[cell.strip()])
    return predictions, answers


def compare(text: str) -> list[list[str | float | int | None]]:
    """Return a row of HEADERS for every pair of languages in the text."""
    predictions, answers = read_predictions(text)
    if len(predictions) < 2:
        raise ValueError(f"{len(predictions)} columns of predictions; expected two or more")
    module = Path(__file__).resolve().with_name("coverlap.py")
    metric = evaluate.load(str(module), keep_in_memory=True)
    rows = []
    for one, other in combinations(predictions, 2):
        result = metric.compute(
            predictions=predictions[one], references=predictions[other], answers=answers
        )
        value = None if result["coverlap"] is None else round(result["coverlap"], 4)
        rows.append(
            [f"{one} – {other}", value, result["both"], result["either"], result["n_queries"]]
        )
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


def build():
    """Return the page (gradio is needed only here)."""
    import gradio

    def answer(text):
        try:
            return compare(text)
        except ValueError as error:
            raise gradio.Error(str(error), print_exception=False) from error

    with gradio.Blocks(title="COverlap") as page:
        gradio.Markdown(HELP)
        text = gradio.Textbox(EXAMPLE, lines=10, label="predicted answers")
        button = gradio.Button("Compare", variant="primary")
        table = gradio.Dataframe(headers=HEADERS, label="every pair of languages")
        button.click(answer, text, table)
    return page


if __name__ == "__main__":
    build().launch()
