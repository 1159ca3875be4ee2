"""The Space of inflection delta: two ranks for each query, figures for each relation."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from polyprobe.metrics.space.entries import Measure, Output, list_groups
from polyprobe.metrics.space.page import Page, load_formulas, serve
from polyprobe.metrics.space.sheet import Sheets, read_numbers, read_only, read_texts
from polyprobe.metrics.space.views import view_bars

MEASURES = [Measure("inflection_delta", chance=0.0), Measure("share_inflected", chance=0.5)]
EXAMPLES = {
    "the card's": """\
relation,label,inflected
P19,7,2
P19,1,3
P19,12,1
P495,4,3
"""
}
QUESTION = """\
By how many ranks does a model prefer the inflected form of an answer to its label? Enter one line
for each query: `relation`, the rank of the `label`, and the rank of the `inflected` form in the
same list of candidates; low is good.
"""
READING = """\
**Positive**: the inflected form is preferred. **0** and a share of 0.5 mean no preference: the
table shows them as chance. `share_inflected` is the share of queries where the inflected form ranks
higher, equal ranks half; a few large jumps can dominate the delta, but not the share. `macro` is
the mean of the relations, `micro` of the queries. The interval comes from resampled queries: the
bar's whisker.
"""


def compute(sheets: Sheets, average: str = "macro") -> Output:
    """Compute the delta and the share of inflected forms, of all relations and of each."""
    sheet = read_only(sheets, "relation", "label", "inflected")
    result = load_formulas(__file__, "inflection_delta").measure_preference(
        read_ranks(sheet["label"], "label"),
        read_ranks(sheet["inflected"], "inflected"),
        groups=read_texts(sheet["relation"], "relation"),
        average=average,
    )
    return Output(list_groups(result, f"all relations ({average})", MEASURES))


def read_ranks(cells: Sequence[Any], name: str) -> np.ndarray:
    """Read a column of ranks; a negative or infinite one, probably a score, is an error."""
    ranks = read_numbers(cells, name)
    for row, rank in enumerate(ranks, start=1):
        if not 0 <= rank < float("inf"):
            raise ValueError(f"row {row}, column {name!r} is {rank:g}; expected a rank from 0 or 1")
    return ranks


PAGE = Page(
    title="Inflection delta",
    question=QUESTION,
    reading=READING,
    examples=EXAMPLES,
    compute=compute,
    view=partial(view_bars, names=["inflection_delta"], reference="no preference", share=False),
    choices={"average": ["macro", "micro"]},
)


if __name__ == "__main__":
    serve(PAGE)
