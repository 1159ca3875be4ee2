"""The Space of RBO, tau-b and top-k overlap: scores as input, figures for each pair."""

from itertools import combinations

import numpy as np

from polyprobe.metrics.space.entries import Output, list_pairs
from polyprobe.metrics.space.languages import read_aligned
from polyprobe.metrics.space.page import Page, load_formulas, serve
from polyprobe.metrics.space.sheet import Sheets
from polyprobe.metrics.space.views import view_pairs

EXAMPLES = {
    "the card's": """\
query,candidate,English,Spanish
The Godfather,Italian,-0.5,-0.9
The Godfather,English,-1.0,-3.5
The Godfather,Russian,-4.0,-2.2
The Godfather,Danish,-4.2,-5.0
Capital of Kenya,Nairobi,-0.1,-0.4
Capital of Kenya,Mombasa,-3.0,-0.2
""",
    "three languages": """\
query,candidate,English,Spanish,Random
The Godfather,Italian,-1.2,-0.9,-2.0
The Godfather,English,-1.9,-3.5,-1.0
The Godfather,Russian,-4.0,-2.2,-1.5
The Godfather,Danish,-4.4,-5.1,-1.1
Capital of Kenya,Nairobi,-0.4,-0.6,-2.5
Capital of Kenya,Mombasa,-2.0,-1.8,-2.5
""",
}
QUESTION = """\
How similarly does a model rank the same candidates in different languages, by rank-biased overlap
(p = 0.9), Kendall's τ-b and the overlap of the best k? Enter one line for each candidate: `query`,
`candidate`, then one column of scores for each language; higher is better. JSON with one list of
scores for each query is accepted, `{"English": [[3, 2, 1]], "Spanish": [[3, 1, 2]]}`, and so are
the files `scores/LANG.parquet` of a polyprobe run, uploaded together.
"""
READING = """\
**1** is the same ranking, **chance** is the expected value of unrelated rankings: RBO is far above
0 by chance where candidates are few; for τ-b, from −1 to 1, chance is 0. τ-b leaves out queries
where a language ties all candidates, so its n may be smaller. The interval comes from resampled
queries. In the picture each cell is the RBO of a pair. 53 languages with 3,000 queries take about
20 seconds.
"""


def compute(sheets: Sheets, ties: str = "expected", k: str = "1, 2") -> Output:
    """Compute RBO, tau-b and top-k overlap of all pairs of languages together and of each."""
    module = load_formulas(__file__, "rank_overlap")
    scores, _, _, clusters = read_aligned(sheets)
    depths = [int(depth) for depth in k.split(",")]
    pairs = combinations(scores.values(), 2)
    overlaps = [module.overlap_per_query(*pair, k=depths, ties=ties) for pair in pairs]
    sizes = [len(row) for row in next(iter(scores.values()))]
    chance = {name: by.mean() for name, by in module.overlap_chance(sizes, k=depths).items()}
    measures = [
        (name, np.column_stack([x[name] for x in overlaps]), chance.get(name, 0), name in chance)
        for name in overlaps[0]
    ]
    return Output(list_pairs([*scores], measures, clusters))


PAGE = Page(
    title="Rank overlap",
    question=QUESTION,
    reading=READING,
    examples=EXAMPLES,
    compute=compute,
    view=view_pairs,
    choices={"ties": ["expected", "released"], "k": ["1, 2", "1, 3", "1, 5, 10"]},
    several=True,
)


if __name__ == "__main__":
    serve(PAGE)
