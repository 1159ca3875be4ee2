"""Show COverlap in the browser: predicted answers in, a figure for every pair of languages out."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from polyprobe.metrics.space.answer import Answer, Figure, pick
from polyprobe.metrics.space.languages import read_choices
from polyprobe.metrics.space.means import estimate_overlap, split_right
from polyprobe.metrics.space.page import Page, serve
from polyprobe.metrics.space.picture import draw_pairs
from polyprobe.metrics.space.sheet import Sheet

EXAMPLES = {
    "the card's": """\
query,right,English,Spanish,Finnish
Capital of Kenya,Nairobi,Nairobi,Nairobi,Mombasa
Official language of Canada,English|French,English,Spanish,French
Continent of Peru,South America,Africa,Africa,South America
"""
}
ASK = """\
Which facts does a model get right in both of two languages, out of those it gets right in either?
Give a line a query: `query`, `right` answers (`|` between several), then a column of predicted
answers a language; a prediction is right if it is spelled like a right answer. The files
`scores/LANG.parquet` of a polyprobe run do as well, all at once.
"""
READING = """\
**1**: whatever is right in one language is right in the other. **Chance** is what two languages of
these accuracies a and b share if their right answers have nothing to do with each other, ab / (a +
b − ab). n are the facts right in either; without any there is no value. *all pairs* is the mean of
the pairs that have one. The interval is that of the queries drawn anew, for all languages at once.
In the picture each cell is a pair of languages.
"""


def compare(sheets: Mapping[str, Sheet]) -> Answer:
    """Return COverlap of all pairs of languages together and of each."""
    choices = read_choices(sheets)
    pairs = [*combinations(choices.chosen, 2)]
    labels = [" – ".join(pair) for pair in pairs]
    found = estimate_overlap(labels, choices.right, clusters=choices.clusters)
    counted = split_right(choices.right).denominators > 0
    expected = split_right(choices.right.mean(axis=0, keepdims=True))
    figures = []
    for i, (label, pair) in enumerate(zip(labels, pairs, strict=True)):
        both, either = float(expected.numerators[0, i]), float(expected.denominators[0, i])
        chance = both / either if either else None
        figures.append(pick(found, pair, "coverlap", int(counted[:, i].sum()), chance, label))
    if len(figures) > 1:
        known = [f.chance for f in figures if f.chance is not None]
        chance, n = float(np.mean(known)) if known else None, int(counted.any(axis=1).sum())
        figures.insert(0, pick(found, ("all pairs",), "coverlap", n, chance, "mean"))
    note = f"{choices.tied:,} best scores are shared: these candidates count in equal parts."
    return Answer(figures, [note] if choices.tied else [])


def draw(figures: Sequence[Figure]) -> Any:
    """Return the pairs, from 0 to 1."""
    return draw_pairs(figures, low=0)


if __name__ == "__main__":
    serve(Page("COverlap", ASK, READING, EXAMPLES, draw, several=True), compare)
