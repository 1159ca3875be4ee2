"""The Space of answer agreement: predicted answers as input, figures for each pair."""

from functools import partial
from itertools import combinations

import numpy as np

from polyprobe.metrics.space.entries import Output, list_pairs, pick
from polyprobe.metrics.space.languages import read_language_choices
from polyprobe.metrics.space.page import Page, load_formulas, serve
from polyprobe.metrics.space.picture import draw_pairs
from polyprobe.metrics.space.sheet import Sheets

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
ASK = """\
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
    """Return agreement and its parts over all languages and for each pair of languages."""
    choices, module = read_language_choices(sheets), load_formulas(__file__, "answer_agreement")
    table = np.column_stack([*choices.chosen.values()])
    found = module.measure_agreement(
        table.tolist(),
        [*choices.chosen],
        choices.answers,
        choices.sizes,
        clusters=choices.clusters,
    )
    name, n = "agreement", found["n_queries"]
    chance = None if choices.sizes is None else float(np.mean(1 / np.array(choices.sizes)))
    same = module.divide_pairs(table)[name].astype(np.float64)
    [joint, *_] = list_pairs([*choices.chosen], [(name, same, chance, True)], choices.clusters)
    found["agreement_ci"] = joint.interval
    parts = (*PARTS, "right_in_all", "right_in_any")
    entries = [pick(found, ("all pairs",), name, n, chance)]
    if choices.sizes is not None:
        entries.append(pick(found, ("all pairs",), "kappa", found["n_kappa"], 0.0))
    entries += [pick(found, ("all pairs",), part, n) for part in parts]
    pairs = combinations(choices.chosen, 2)
    for pair, of_pair in zip(pairs, found["pairs"].values(), strict=True):
        entries.append(pick(of_pair, pair, name, n, chance))
        entries += [pick(of_pair, pair, part, n) for part in PARTS]
    note = (
        f"{choices.tied:,} best scores are shared: the first of these candidates counts; in a "
        "run's results.json they count in equal parts."
    )
    return Output(entries, [note] if choices.tied else [])


DRAW = partial(draw_pairs, low=0)
PAGE = Page("Answer agreement", ASK, READING, EXAMPLES, compute, DRAW, several=True)


if __name__ == "__main__":
    serve(PAGE)
