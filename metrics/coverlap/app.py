"""Show COverlap in the browser: predicted answers in, a figure for every pair of languages out."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from figures import Answer, Figure, pick
from languages import read_choices
from picture import draw_pairs
from sheet import Sheet
from space import Page, load_beside, serve

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
b − ab). n are the facts right in either; without any there is no value. The interval is that of the
queries drawn anew. In the picture each cell is a pair of languages.
"""


def compare(sheets: Mapping[str, Sheet]) -> Answer:
    """Return COverlap of every pair of languages."""
    module = load_beside(__file__)
    choices = read_choices(sheets)
    table = np.array([*choices.chosen.values()]).T
    accuracy = dict(
        zip(choices.chosen, module.find_right(table, choices.answers).mean(axis=0), strict=True)
    )
    figures = []
    for pair in combinations(choices.chosen, 2):
        one, other = (choices.chosen[name] for name in pair)
        found = module.compare_right(one, other, choices.answers)
        a, b = (float(accuracy[name]) for name in pair)
        chance = a * b / (a + b - a * b) if found["either"] else None
        figures.append(pick(found, pair, "coverlap", found["either"], chance))
    return Answer(figures, choices.notes)


def draw(figures: Sequence[Figure]) -> Any:
    """Return the pairs, from 0 to 1."""
    return draw_pairs(figures, low=0)


if __name__ == "__main__":
    serve(Page("COverlap", ASK, READING, EXAMPLES, draw, several=True), compare)
