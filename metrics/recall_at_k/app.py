"""Show recall@k and mean rank in the browser: a table of scores in, rows for every language out."""

from space import build, load_beside, read_marked_scores, show, show_interval

TIES = ["expected", "released"]
HEADERS = ["language", "figure", "value", "95 %", "chance", "queries", "tied"]
EXAMPLE = """\
query,candidate,right,Russian,Ukrainian
Capital of Kenya,Найроби,1,-1.4,-2.8
Capital of Kenya,Найробі,1,-3.9,-1.8
Capital of Kenya,Момбаса,0,-2.0,-1.9
Capital of Kenya,Кампала,0,-2.7,-1.8
Capital of Kenya,Накуру,0,-5.2,-5.0
Capital of Kenya,Кисуму,0,-5.5,-4.8
Capital of Kenya,Додома,0,-4.4,-4.1
Author of Faust,Гёте,1,-4.1,-3.0
Author of Faust,Шиллер,0,-3.2,-2.2
Author of Faust,Гейне,0,-5.0,-2.9
"""
HELP = """\
# Recall@k and mean rank
How far up does a model rank a right answer? Paste a table with one line a candidate (comma,
semicolon or tab): `query`, `candidate`, `right` (1 or 0; several forms may be right), then one
column of scores a language.
"""


def measure(text: str, ties: str = "expected") -> list[list]:
    """Return a row of HEADERS for every figure of every language in the text."""
    scores, right = read_marked_scores(text)
    metric = load_beside(__file__)
    rows = []
    for language, predictions in scores.items():
        result = metric.compute(predictions=predictions, references=right, ties=ties)
        for figure in (name.removesuffix("_chance") for name in result if name.endswith("_chance")):
            rows.append(
                [
                    language,
                    figure,
                    show(result[figure]),
                    show_interval(result[f"{figure}_ci"]),
                    show(result[f"{figure}_chance"]),
                    *(result[name] for name in ("n_queries", "n_tied")),
                ]
            )
    return rows


if __name__ == "__main__":
    build("Recall@k", HELP, EXAMPLE, HEADERS, measure, ties=TIES).launch()
