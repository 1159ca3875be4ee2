"""The Space of answer agreement: predicted answers as input, figures for each pair."""

from collections.abc import Mapping
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from polyprobe.metrics.space.entries import Entry, Of, Output, list_pairs, pick
from polyprobe.metrics.space.languages import read_language_choices
from polyprobe.metrics.space.page import Page, load_formulas, serve
from polyprobe.metrics.space.sheet import Sheets
from polyprobe.metrics.space.views import view_pairs

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
    "several correct answers": """\
query,right,English,Spanish,Finnish
Capital of Kenya,Nairobi,Nairobi,Nairobi,Mombasa
Official language of Canada,English|French,English,French,Cree
Continent of Peru,South America,Africa,Africa,South America
""",
}
QUESTION = """\
How often does a model give the same answer in different languages, right or wrong? Enter one line
for each query: `query`, `right` answers (`|` between several), then one column of predicted answers
for each language; answers are the same if they are spelled alike. The files `scores/LANG.parquet`
of a polyprobe run are accepted too, uploaded together.
"""
READING = """\
**agreement** is the share of queries with the same answer, **1** if all are; the five figures below
it divide the queries and sum to 1. *all pairs* is their mean. **Chance**, 1 of N candidates, is
known where scores are given; **kappa** is agreement above it: 0 is chance, 1 is agreement. The
interval comes from resampled queries. In the picture each cell is the agreement of a pair.
Agreement on wrong answers is not knowledge.
"""


def compute(sheets: Sheets) -> Output:
    """Compute agreement and its parts over all languages and for each pair of languages."""
    choices, module = read_language_choices(sheets), load_formulas(__file__, "answer_agreement")
    languages = [*choices.indices]
    table = np.column_stack([*choices.indices.values()])
    result = module.measure_agreement(
        table.tolist(), languages, choices.answers, choices.sizes, clusters=choices.clusters
    )
    chance = None if choices.sizes is None else float(np.mean(1 / np.array(choices.sizes)))
    same = module.divide_pairs(table)["agreement"].astype(np.float64)
    # the interval of the mean, as that of a run
    head, *_ = list_pairs(languages, [("agreement", same, chance, True)], choices.clusters)
    n, kappa, every = result["n_queries"], [], ("all pairs",)
    if chance is not None:
        kappa = [pick(result, every, "kappa", result["n_kappa"], 0.0)]
    parts_of_all = [
        pick(result, every, part, n) for part in (*PARTS, "right_in_all", "right_in_any")
    ]
    pairs = zip(combinations(languages, 2), result["pairs"].values(), strict=True)
    parts = [x for pair, figures in pairs for x in _list(figures, pair, n, chance)]
    note = (
        f"{choices.tied:,} best scores are shared: the first of these candidates counts; in a "
        "run's results.json they count in equal parts."
    )
    return Output([head, *kappa, *parts_of_all, *parts], [note] if choices.tied else [])


def _list(result: Mapping[str, Any], of: Of, n: int, chance: float | None) -> list[Entry]:
    """List agreement and its parts of a pair of languages."""
    return [pick(result, of, "agreement", n, chance), *(pick(result, of, x, n) for x in PARTS)]


PAGE = Page(
    title="Answer agreement",
    question=QUESTION,
    reading=READING,
    examples=EXAMPLES,
    compute=compute,
    view=partial(view_pairs, low=0),
    several=True,
)


if __name__ == "__main__":
    serve(PAGE)
