"""The Space of COverlap: predicted answers as input, one figure for each pair of languages."""

from functools import partial
from itertools import combinations

import numpy as np

from polyprobe.metrics.space.entries import Output, list_figure
from polyprobe.metrics.space.languages import read_language_choices
from polyprobe.metrics.space.page import Page, load_formulas, serve
from polyprobe.metrics.space.sheet import Sheets
from polyprobe.metrics.space.views import view_pairs

EXAMPLES = {
    "the card's": """\
query,right,English,Spanish,Finnish
Capital of Kenya,Nairobi,Nairobi,Nairobi,Mombasa
Official language of Canada,English|French,English,Spanish,French
Continent of Peru,South America,Africa,Africa,South America
"""
}
QUESTION = """\
Which facts does a model get right in both of two languages, of those it gets right in either?
Enter one line for each query: `query`, `right` answers (`|` between several), then one column of
predicted answers for each language; a prediction is correct if it is spelled like a correct answer.
The files `scores/LANG.parquet` of a polyprobe run are accepted too, uploaded together.
"""
READING = """\
**1**: the same facts are correct in both languages. **Chance** is the value of two languages with
accuracies a and b whose correct answers are independent, ab / (a + b − ab). n: facts correct in
either language; without any the value is undefined. *all pairs* is the mean of the pairs that have
one. The interval comes from resampled queries, for all languages at once. In the picture each cell
is a pair of languages.
"""


def compute(sheets: Sheets) -> Output:
    """Compute COverlap of all pairs of languages together and of each."""
    choices = read_language_choices(sheets)
    pairs = [*combinations(choices.indices, 2)]
    module = load_formulas(__file__, "coverlap")
    figure = module.find_coverlap(dict(zip(choices.indices, choices.right.T, strict=True)))
    defined = np.column_stack(
        [first + second > 0 for first, second in combinations(choices.right.T, 2)]
    )
    accuracies = combinations(choices.right.mean(axis=0).tolist(), 2)
    chances = [a * b / (a + b - a * b) if a + b else None for a, b in accuracies]
    entries = list_figure(
        figure, pairs, "all pairs", "coverlap", defined, chances, clusters=choices.clusters
    )
    note = f"{choices.tied:,} best scores are shared: these candidates count in equal parts."
    return Output(entries, [note] if choices.tied else [])


PAGE = Page(
    title="COverlap",
    question=QUESTION,
    reading=READING,
    examples=EXAMPLES,
    compute=compute,
    view=partial(view_pairs, low=0),
    several=True,
)


if __name__ == "__main__":
    serve(PAGE)
