"""Show COverlap in the browser: a table of predicted answers in, a row for every pair out."""

from itertools import combinations

from space import build, load_beside, read_predictions, show, show_interval

HEADERS = ["languages", "coverlap", "95 %", "both", "either", "queries"]
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


def compare(text: str) -> list[list]:
    """Return a row of HEADERS for every pair of languages in the text."""
    predictions, answers = read_predictions(text)
    if len(predictions) < 2:
        raise ValueError(f"{len(predictions)} columns of predictions; expected two or more")
    metric = load_beside(__file__)
    rows = []
    for one, other in combinations(predictions, 2):
        result = metric.compute(
            predictions=predictions[one], references=predictions[other], answers=answers
        )
        rows.append(
            [
                f"{one} – {other}",
                show(result["coverlap"]),
                show_interval(result["coverlap_ci"]),
                *(result[name] for name in ("both", "either", "n_queries")),
            ]
        )
    return rows


if __name__ == "__main__":
    build("COverlap", HELP, EXAMPLE, HEADERS, compare).launch()
