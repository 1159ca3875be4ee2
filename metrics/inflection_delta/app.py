"""Show inflection delta in the browser: two ranks a query in, figures for every relation out."""

from collections.abc import Mapping, Sequence
from typing import Any

from polyprobe.metrics.space.answer import Answer, Figure, pick
from polyprobe.metrics.space.page import Page, load_beside, serve
from polyprobe.metrics.space.picture import draw_bars
from polyprobe.metrics.space.sheet import Sheet, need, read_numbers, read_only, read_texts

NEUTRAL = {"inflection_delta": 0.0, "share_inflected": 0.5}
EXAMPLES = {
    "the card's": """\
relation,label,inflected
P19,7,2
P19,1,3
P19,12,1
P495,4,3
"""
}
ASK = """\
By how many ranks does a model prefer the inflected form of an answer to its label? Give a line a
query: `relation`, the rank of the `label`, and the rank of the `inflected` form in the same list of
candidates; low is good.
"""
READING = """\
**Positive**: the inflected form is preferred. **0**, and a share of 0.5, is what no preference
gives: it stands under chance. `share_inflected` is the share of queries where the inflected form
ranks higher, equal ranks half; the delta may hang on a few large jumps, the share does not. `macro`
is the mean of the relations, `micro` of the queries. The interval is that of the queries drawn
anew: the bar's whisker.
"""


def measure(sheets: Mapping[str, Sheet], average: str = "macro") -> Answer:
    """Return the delta and the share of all relations and of each of them."""
    relations, label, inflected = need(read_only(sheets), "relation", "label", "inflected")
    found = load_beside(__file__).measure_preference(
        read_ranks(label, "label"),
        read_ranks(inflected, "inflected"),
        groups=read_texts(relations, "relation"),
        average=average,
    )
    return Answer(
        [
            pick(part, (name,), figure, part["n_queries"], NEUTRAL[figure])
            for name, part in [(f"all relations ({average})", found), *found["by_group"].items()]
            for figure in NEUTRAL
        ]
    )


def read_ranks(cells: Sequence[Any], name: str) -> Sequence[float]:
    """Return a column of ranks; what is negative or infinite is probably a score, and an error."""
    ranks = read_numbers(cells, name)
    for row, rank in enumerate(ranks, start=1):
        if not 0 <= rank < float("inf"):
            raise ValueError(f"row {row}, column {name!r} is {rank:g}; expected a rank from 0 or 1")
    return ranks


def draw(figures: Sequence[Figure]) -> Any:
    """Return the delta's bars, around 0."""
    return draw_bars(figures, ["inflection_delta"], reference="no preference", share=False)


if __name__ == "__main__":
    choices = {"average": ["macro", "micro"]}
    serve(Page("Inflection delta", ASK, READING, EXAMPLES, draw, choices), measure)
