"""Show recall@k and mean rank in the browser: a table of scores in, rows for every language out."""

from space import build, load_beside, read_lines, read_numbers, show, show_interval

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


def read_scores(text: str) -> tuple[dict[str, list[list[float]]], list[list[int]]]:
    """Return the scores, a row a query, of each language, and the right indices of each query.

    The lines of a query need not stand together; candidates keep the order of their lines.
    """
    (_, _, _, *languages), lines = read_lines(text, "query, candidate, right, languages")
    queries: dict[str, list[list[float]]] = {}
    for number, (query, _, *cells) in enumerate(lines, start=1):
        queries.setdefault(query, []).append(read_numbers(cells, number))
    columns = [list(map(list, zip(*rows, strict=True))) for rows in queries.values()]
    right = [[i for i, mark in enumerate(marks) if mark] for marks, *_ in columns]
    scores = {name: [column[i] for column in columns] for i, name in enumerate(languages, start=1)}
    return scores, right


def measure(text: str, ties: str = "expected") -> list[list]:
    """Return a row of HEADERS for every figure of every language in the text."""
    scores, right = read_scores(text)
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
