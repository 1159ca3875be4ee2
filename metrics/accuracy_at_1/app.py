"""The Space of accuracy@1: a table of scores as input, one figure for each language."""

import numpy as np

from polyprobe.metrics.space.entries import Output, list_means
from polyprobe.metrics.space.languages import read_scores
from polyprobe.metrics.space.page import Page, load_formulas, serve
from polyprobe.metrics.space.sheet import Sheets
from polyprobe.metrics.space.views import view_bars

EXAMPLES = {
    "the card's": """\
query,candidate,right,English,Spanish
The Godfather,Italian,1,-0.5,-0.9
The Godfather,English,0,-1.0,-3.5
The Godfather,Russian,0,-4.0,-2.2
Capital of Kenya,Nairobi,1,-3.0,-1.8
Capital of Kenya,Mombasa,0,-0.1,-1.8
"""
}
QUESTION = """\
How often is the best-scored candidate correct? Enter one line for each candidate: `query`,
`candidate`, `right` (1 or 0), then one column of scores for each language; higher is better. The
files `scores/LANG.parquet` of a polyprobe run are accepted too, uploaded together.
"""
READING = """\
**1** is always correct; **chance** is the expected value of a guess. A correct candidate that
shares the best score with t others counts 1 / (t + 1); `released` takes the earliest of them
instead. The interval comes from resampled queries, for all languages at once: the bar's whisker. If
it contains chance, knowledge is not shown. *all languages* is their mean.
"""


def compute(sheets: Sheets, ties: str = "expected") -> Output:
    """Compute the accuracy of all languages together and of each."""
    module = load_formulas(__file__, "accuracy_at_1")
    scores = read_scores(sheets, need_right=True)
    right, chances, notes = [], [], []
    for language, rows in scores.rows.items():
        answers = scores.answers[language]
        right.append(module.right_probability(rows, answers, ties))
        result = module.measure_accuracy(rows, answers, ties, n_resamples=0)
        chances.append(result["chance"])
        if result["n_tied"]:
            share = f"{result['n_tied']:,} of {result['n_queries']:,}"
            notes.append(f"{language}: the best score is shared in {share} queries.")
    of, values = [(language,) for language in scores.rows], np.column_stack(right)
    title, name = "all languages", "accuracy_at_1"
    clusters = scores.clusters
    entries = list_means(of, title, name, values, chances, share=True, clusters=clusters)
    return Output(entries, notes)


PAGE = Page(
    title="Accuracy@1",
    question=QUESTION,
    reading=READING,
    examples=EXAMPLES,
    compute=compute,
    view=view_bars,
    choices={"ties": ["expected", "released"]},
    several=True,
)


if __name__ == "__main__":
    serve(PAGE)
