"""Show RankC in the browser: a table of scores in, a row for every pair of languages out."""

import json
from itertools import combinations

from space import build, load_beside, read_lines, read_numbers, show, show_interval

WEIGHTS = ["softmax", "norm1", "norm2", "norm1-released", "norm2-released"]
HEADERS = ["languages", "rankc", "95 %", "chance", "adjusted", "95 % of adjusted", "queries"]
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
    (_, _, *languages), lines = read_lines(text, "query, candidate, languages")
    queries: dict[str, list[list[float]]] = {}
    for number, (query, _, *cells) in enumerate(lines, start=1):
        queries.setdefault(query, []).append(read_numbers(cells, number))
    columns = [list(map(list, zip(*rows, strict=True))) for rows in queries.values()]
    return {name: [column[i] for column in columns] for i, name in enumerate(languages)}


def compare(text: str, weights: str = "softmax", ties: str = "expected") -> list[list]:
    """Return a row of HEADERS for every pair of languages in the text."""
    scores = read_scores(text)
    if len(scores) < 2:
        raise ValueError(f"{len(scores)} columns of scores; expected two languages or more")
    metric = load_beside(__file__)
    rows = []
    for one, other in combinations(scores, 2):
        result = metric.compute(
            predictions=scores[one], references=scores[other], weights=weights, ties=ties
        )
        rows.append(
            [
                f"{one} – {other}",
                show(result["rankc"]),
                show_interval(result["rankc_ci"]),
                show(result["chance"]),
                show(result["rankc_adjusted"]),
                show_interval(result["rankc_adjusted_ci"]),
                result["n_queries"],
            ]
        )
    return rows


if __name__ == "__main__":
    choices = {"weights": WEIGHTS, "ties": ["expected", "released"]}
    build("RankC", HELP, EXAMPLE, HEADERS, compare, **choices).launch()
