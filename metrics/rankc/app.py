"""The Space of RankC: scores of several languages as input, figures for each pair."""

from itertools import combinations

import numpy as np

from polyprobe.metrics.space.entries import Output, list_pairs
from polyprobe.metrics.space.languages import read_aligned
from polyprobe.metrics.space.page import Page, load_formulas, serve
from polyprobe.metrics.space.sheet import Sheets
from polyprobe.metrics.space.views import view_pairs

WEIGHTS = ["softmax", "norm1", "norm2", "norm1-released", "norm2-released"]
EXAMPLES = {
    "the paper's": """\
query,candidate,English,Spanish
The Godfather,Italian,3,3
The Godfather,English,2,1
The Godfather,Russian,1,2
""",
    "three languages": """\
query,candidate,English,Spanish,Random
The Godfather,Italian,-1.2,-0.9,-2.0
The Godfather,English,-1.9,-3.5,-1.0
The Godfather,Russian,-4.0,-2.2,-1.5
Capital of Kenya,Nairobi,-0.4,-0.6,-2.5
Capital of Kenya,Mombasa,-2.0,-1.8,-2.5
""",
}
QUESTION = """\
How similarly does a model rank the same candidates in different languages? Enter one line for each
candidate: `query`, `candidate`, then one column of scores for each language; higher is better. JSON
with one list of scores for each query is accepted,
`{"English": [[3, 2, 1]], "Spanish": [[3, 1, 2]]}`, and so are the files
`scores/LANG.parquet` of a polyprobe run, uploaded together.
"""
READING = """\
**1** is the same ranking of all candidates, **chance** is the expected value of unrelated rankings;
it is high where candidates are few. `rankc_adjusted` puts chance at 0 and can be compared between
sets. The interval comes from resampled queries. In the picture each cell is a pair of languages.
RankC does not measure correctness. 53 languages with 3,000 queries take some seconds.
"""


def compute(sheets: Sheets, weights: str = "softmax", ties: str = "expected") -> Output:
    """Compute RankC, plain and adjusted, of all pairs of languages together and of each."""
    module = load_formulas(__file__, "rankc")
    scores, _, _, clusters = read_aligned(sheets)
    if ties == "expected":
        values = module.rankc_pairs(scores, weights)
    else:
        pairs = combinations(scores.values(), 2)
        values = np.column_stack([module.rankc_per_query(*pair, weights, ties) for pair in pairs])
    sizes = np.array([len(row) for row in next(iter(scores.values()))])
    chance = module.rankc_chance(sizes, weights)
    room = np.where(sizes > 1, 1 - chance, np.nan)
    adjusted = (values - chance[:, None]) / room[:, None]
    measures = [("rankc", values, chance.mean(), True), ("rankc_adjusted", adjusted, 0, False)]
    return Output(list_pairs([*scores], measures, clusters))


PAGE = Page(
    title="RankC",
    question=QUESTION,
    reading=READING,
    examples=EXAMPLES,
    compute=compute,
    view=view_pairs,
    choices={"weights": WEIGHTS, "ties": ["expected", "released"]},
    several=True,
)


if __name__ == "__main__":
    serve(PAGE)
