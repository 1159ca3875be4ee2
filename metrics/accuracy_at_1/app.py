"""Show accuracy@1 in the browser: a table of scores in, a row for every language out."""

from space import build, load_beside, read_marked_scores, show, show_interval

TIES = ["expected", "released"]
HEADERS = ["language", "accuracy_at_1", "95 %", "chance", "queries", "tied"]
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


def measure(text: str, ties: str = "expected") -> list[list]:
    """Return a row of HEADERS for every language in the text."""
    scores, answers = read_marked_scores(text)
    metric = load_beside(__file__)
    rows = []
    for language, predictions in scores.items():
        result = metric.compute(predictions=predictions, answers=answers, ties=ties)
        rows.append(
            [
                language,
                show(result["accuracy_at_1"]),
                show_interval(result["accuracy_at_1_ci"]),
                show(result["chance"]),
                *(result[name] for name in ("n_queries", "n_tied")),
            ]
        )
    return rows


if __name__ == "__main__":
    build("Accuracy@1", HELP, EXAMPLE, HEADERS, measure, ties=TIES).launch()
