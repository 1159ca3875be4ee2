"""Show RankC in the browser: a table of scores in, a row for every pair of languages out."""

import json
from itertools import combinations

from space import build, load_beside, read_scores, show, show_interval

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


def compare(text: str, weights: str = "softmax", ties: str = "expected") -> list[list]:
    """Return a row of HEADERS for every pair of languages in the text."""
    scores = json.loads(text) if text.lstrip().startswith("{") else read_scores(text)
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
