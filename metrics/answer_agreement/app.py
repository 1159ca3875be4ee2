"""Show answer agreement in the browser: predicted answers in, figures for every pair out."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from polyprobe.metrics.space.answer import Answer, Figure, pick
from polyprobe.metrics.space.languages import read_choices
from polyprobe.metrics.space.means import estimate_means
from polyprobe.metrics.space.page import Page, load_beside, serve
from polyprobe.metrics.space.picture import draw_pairs
from polyprobe.metrics.space.sheet import Sheet

PARTS = [
    *("agree_right", "agree_wrong", "one_right"),
    *("both_wrong_different", "both_right_different"),
]
EXAMPLES = {
    "the card's": """\
query,right,en,fr,ru
Capital of Kenya,Nairobi,Nairobi,Nairobi,Mombasa
Capital of Peru,Lima,Cusco,Cusco,Cusco
Author of Faust,Goethe,Goethe,Schiller,Heine
""",
    "several right answers": """\
query,right,English,Spanish,Finnish
Capital of Kenya,Nairobi,Nairobi,Nairobi,Mombasa
Official language of Canada,English|French,English,French,Cree
Continent of Peru,South America,Africa,Africa,South America
""",
}
ASK = """\
How often does a model give the same answer in different languages, right or wrong? Give a line a
query: `query`, `right` answers (`|` between several), then a column of predicted answers a
language; answers are the same if they are spelled alike. The files `scores/LANG.parquet` of a
polyprobe run do as well, all at once.
"""
READING = """\
**agreement** is the share of queries with the same answer, **1** if all are; the five figures below
it divide the queries and sum to 1. *all pairs* is their mean. **Chance**, 1 of N candidates, is
known where scores are given. The interval is that of the queries drawn anew. In the picture each
cell is the agreement of a pair. Agreement on wrong answers is not knowledge.
"""


def compare(sheets: Mapping[str, Sheet]) -> Answer:
    """Return agreement and its parts over all languages and for every pair of them."""
    choices, module = read_choices(sheets), load_beside(__file__)
    table = np.column_stack([*choices.chosen.values()])
    found = module.measure_agreement(
        table.tolist(),
        languages=list(choices.chosen),
        answers=choices.answers,
        clusters=choices.clusters,
    )
    same = module.divide_pairs(table)["agreement"].astype(np.float64)
    found["agreement_ci"] = estimate_means([*found["pairs"]], same, clusters=choices.clusters)[
        "mean_ci"
    ]
    n = found["n_queries"]
    figures = [
        pick(found, ("all pairs",), name, n, choices.chance if name == "agreement" else None)
        for name in ("agreement", *PARTS, "right_in_all", "right_in_any")
    ]
    pairs = zip(combinations(choices.chosen, 2), found["pairs"].values(), strict=True)
    for pair, of_pair in pairs:
        figures.append(pick(of_pair, pair, "agreement", n, choices.chance))
        figures += [pick(of_pair, pair, name, n) for name in PARTS]
    note = (
        f"{choices.tied:,} best scores are shared: the first of these candidates is taken, where "
        "a run's results.json takes each in equal parts."
    )
    return Answer(figures, [note] if choices.tied else [])


def draw(figures: Sequence[Figure]) -> Any:
    """Return the pairs, from 0 to 1."""
    return draw_pairs(figures, low=0)


if __name__ == "__main__":
    serve(Page("Answer agreement", ASK, READING, EXAMPLES, draw, several=True), compare)
