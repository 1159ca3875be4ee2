"""The Space of COverlap: predicted answers as input, one figure for each pair of languages."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from polyprobe.metrics.joint.figures import find_coverlap
from polyprobe.metrics.space.entries import list_figure
from polyprobe.metrics.space.languages import read_language_choices
from polyprobe.metrics.space.output import Entry, Output
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


def compute(sheets: Mapping[str, Sheet]) -> Output:
    """Return COverlap of all pairs of languages together and of each."""
    choices = read_language_choices(sheets)
    pairs = [*combinations(choices.chosen, 2)]
    figure = find_coverlap(dict(zip(choices.chosen, choices.right.T, strict=True)))
    known = np.stack(_count_either(choices.right), axis=1) > 0
    accuracies = choices.right.mean(axis=0)
    shared = [float(one * other) for one, other in combinations(accuracies, 2)]
    either = [float(count) for count in _count_either(accuracies)]
    chances = [part / whole if whole else None for part, whole in zip(shared, either, strict=True)]
    entries = list_figure(
        figure, pairs, "all pairs", "coverlap", known, chances, clusters=choices.clusters
    )
    note = f"{choices.tied:,} best scores are shared: these candidates count in equal parts."
    return Output(entries, [note] if choices.tied else [])


def _count_either(right: np.ndarray) -> list[np.ndarray]:
    """Return for each pair the probability of at least one correct answer, [..., languages]."""
    return [one + other - one * other for one, other in combinations(right.T, 2)]


def draw(entries: Sequence[Entry]) -> Any:
    """Draw all pairs on a scale from 0 to 1."""
    return draw_pairs(entries, low=0)


PAGE = Page("COverlap", ASK, READING, EXAMPLES, compute, draw, several=True)


if __name__ == "__main__":
    serve(PAGE)
