"""Show RBO, tau-b and top-k overlap in the browser: scores in, figures for every pair out."""

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from polyprobe.metrics.space.answer import Answer, pick
from polyprobe.metrics.space.languages import read_aligned
from polyprobe.metrics.space.means import estimate_means
from polyprobe.metrics.space.page import Page, load_beside, serve
from polyprobe.metrics.space.picture import draw_pairs
from polyprobe.metrics.space.sheet import Sheet

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
ASK = """\
How alike does a model rank the same candidates in different languages, by rank-biased overlap (p =
0.9), Kendall's τ-b and the overlap of the best k? Give a line a candidate: `query`, `candidate`,
then a column of scores a language, higher is better. JSON with a list of scores a query does as
well, `{"English": [[3, 2, 1]], "Spanish": [[3, 1, 2]]}`, and so do the files `scores/LANG.parquet`
of a polyprobe run, all at once.
"""
READING = """\
**1** is the same ranking, **chance** what unrelated rankings reach: RBO is far above 0 by chance
where candidates are few; for τ-b, from −1 to 1, chance is 0. τ-b leaves out queries where a
language ties all candidates, so its n may be smaller. The interval is that of the queries drawn
anew. In the picture each cell is the RBO of a pair. 53 languages with 3,000 queries take some 20
seconds.
"""


def compare(sheets: Mapping[str, Sheet], ties: str = "expected", k: str = "1, 2") -> Answer:
    """Return RBO, tau-b and the overlap of the best k of every pair and of all together."""
    module = load_beside(__file__)
    read = read_aligned(sheets)
    scores = read.rows
    depths = [int(depth) for depth in k.split(",")]
    values = {
        pair: module.overlap_per_query(scores[pair[0]], scores[pair[1]], k=depths, ties=ties)
        for pair in combinations(scores, 2)
    }
    labels = [" – ".join(pair) for pair in values]
    tables = {
        name: np.column_stack([found[name] for found in values.values()]) for name in _first(values)
    }
    found = {
        name: estimate_means(labels, table, clusters=read.clusters)
        for name, table in tables.items()
    }
    sizes = [len(row) for row in _first(scores)]
    chance = {name: by.mean() for name, by in module.overlap_chance(sizes, k=depths).items()}
    figures = [
        pick(found[name], pair, name, int((~np.isnan(column)).sum()), chance.get(name, 0), label)
        for label, (pair, columns) in zip(labels, values.items(), strict=True)
        for name, column in columns.items()
    ]
    of_all = [
        pick(found[name], ("all pairs",), name, n, chance.get(name, 0), "mean")
        for name, table in tables.items()
        for n in [int((~np.isnan(table)).any(axis=1).sum())]
    ]
    return Answer([*(of_all if len(values) > 1 else []), *figures])


def _first(mapping):
    return next(iter(mapping.values()))


if __name__ == "__main__":
    choices = {"ties": ["expected", "released"], "k": ["1, 2", "1, 3", "1, 5, 10"]}
    serve(Page("Rank overlap", ASK, READING, EXAMPLES, draw_pairs, choices, several=True), compare)
