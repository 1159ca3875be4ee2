"""Show RankC in the browser: a table of scores in, a row for every pair of languages out."""

import csv
import json
from io import StringIO
from itertools import combinations
from pathlib import Path

import evaluate

WEIGHTS = ["softmax", "norm1", "norm2", "norm1-released", "norm2-released"]
HEADERS = ["languages", "rankc", "chance", "rankc_adjusted", "queries"]
EXAMPLE = """\
query,candidate,English,Spanish,Random
The Godfather,Italian,-1.2,-0.9,-2.0
The Godfather,English,-1.9,-3.5,-1.0
The Godfather,Russian,-4.0,-2.2,-1.5
Capital of Kenya,Nairobi,-0.4,-0.6,-2.5
Capital of Kenya,Mombasa,-2.0,-1.8,-2.5
"""
HELP = """\
# RankC
How alike does a model rank the same candidates in different languages? Paste a table with one line
a candidate (comma, semicolon or tab): `query`, `candidate`, then one column of scores a language.
Or JSON: `{"English": [[-1.2, -1.9], …], "Spanish": [[…], …]}`, a list of scores a query.
"""


def read_scores(text: str) -> dict[str, list[list[float]]]:
    """Return the scores, a row a query, of each language from JSON or from a table of candidates.

    The lines of a query need not stand together; candidates keep the order of their lines.
    """
    if text.lstrip().startswith("{"):
        return json.loads(text)
    (_, _, *languages), lines = _read_lines(text, "query, candidate, languages")
    queries: dict[str, list[list[float]]] = {}
    for number, (query, _, *cells) in enumerate(lines, start=1):
        queries.setdefault(query, []).append(_read_numbers(cells, number))
    columns = [list(map(list, zip(*rows, strict=True))) for rows in queries.values()]
    return {name: [column[i] for column in columns] for i, name in enumerate(languages)}


def compare(text: str, weights: str = "softmax") -> list[list[str | float | int | None]]:
    """Return a row of HEADERS for every pair of languages in the text."""
    scores = read_scores(text)
    if len(scores) < 2:
        raise ValueError(f"{len(scores)} columns of scores; expected two languages or more")
    module = Path(__file__).resolve().with_name("rankc.py")
    metric = evaluate.load(str(module), keep_in_memory=True)
    rows = []
    for one, other in combinations(scores, 2):
        result = metric.compute(predictions=scores[one], references=scores[other], weights=weights)
        values = [result[name] for name in HEADERS[1:4]]
        rounded = [None if value is None else round(value, 4) for value in values]
        rows.append([f"{one} – {other}", *rounded, result["n_queries"]])
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

    def answer(text, weights):
        try:
            return compare(text, weights)
        except (ValueError, TypeError) as error:
            raise gradio.Error(str(error), print_exception=False) from error

    with gradio.Blocks(title="RankC") as page:
        gradio.Markdown(HELP)
        text = gradio.Textbox(EXAMPLE, lines=10, label="scores")
        weights = gradio.Dropdown(WEIGHTS, value="softmax", label="weights of the ranks")
        button = gradio.Button("Compare", variant="primary")
        table = gradio.Dataframe(headers=HEADERS, label="every pair of languages")
        button.click(answer, [text, weights], table)
    return page


if __name__ == "__main__":
    build().launch()
