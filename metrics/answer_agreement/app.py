"""Show answer agreement in the browser: predicted answers in, a row for all and every pair out."""

from itertools import combinations

from space import build, load_beside, read_predictions, show, show_interval

PARTS = [
    *("agree_right", "agree_wrong", "one_right"),
    *("both_wrong_different", "both_right_different"),
]
HEADERS = ["languages", "agreement", "95 %", *PARTS, "right in all", "right in any", "queries"]
EXAMPLE = """\
query,right,English,Spanish,Finnish
Capital of Kenya,Nairobi,Nairobi,Nairobi,Mombasa
Official language of Canada,English|French,English,French,Cree
Continent of Peru,South America,Africa,Africa,South America
"""
HELP = """\
# Answer agreement
How often does a model give the same answer in different languages, right or wrong? Paste a table
with one line a query (comma, semicolon or tab): `query`, `right` answers (`|` between several),
then one column of predicted answers a language. Names or numbers, as you like: answers are the same
if they read alike. The first row is the mean over all pairs of languages.
"""


def compare(text: str) -> list[list]:
    """Return a row of HEADERS for all languages and for every pair of them."""
    predictions, answers = read_predictions(text)
    if len(predictions) < 2:
        raise ValueError(f"{len(predictions)} columns of predictions; expected two or more")
    result = load_beside(__file__).compute(
        predictions=list(map(list, zip(*predictions.values(), strict=True))),
        languages=list(predictions),
        answers=answers,
    )
    names = ["all", *(" – ".join(pair) for pair in combinations(predictions, 2))]
    return [
        [
            name,
            show(figures["agreement"]),
            show_interval(figures["agreement_ci"]),
            *(show(figures[part]) for part in PARTS),
            *(show(figures.get(key)) for key in ("right_in_all", "right_in_any")),
            result["n_queries"],
        ]
        for name, figures in zip(names, [result, *result["pairs"].values()], strict=True)
    ]


if __name__ == "__main__":
    build("Answer agreement", HELP, EXAMPLE, HEADERS, compare).launch()
