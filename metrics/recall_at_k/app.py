"""Show recall@k and mean rank in the browser: scores in, figures for every language out."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polyprobe.metrics.space.answer import Answer, Figure, pick
from polyprobe.metrics.space.languages import Scores, read_scores
from polyprobe.metrics.space.means import estimate_means
from polyprobe.metrics.space.page import Page, load_beside, serve
from polyprobe.metrics.space.picture import draw_bars
from polyprobe.metrics.space.sheet import Sheet

EXAMPLES = {
    "the card's": """\
query,candidate,right,Russian
Capital of Kenya,Момбаса,0,-0.5
Capital of Kenya,Найроби,1,-1.0
Capital of Kenya,Кампала,0,-4.0
Capital of Kenya,Найробі,1,-2.2
Author of Faust,Гёте,1,-3.0
Author of Faust,Шиллер,0,-0.1
Author of Faust,Гейне,0,-3.0
Author of Faust,Лессинг,0,-2.0
""",
    "two languages": """\
query,candidate,right,Russian,Ukrainian
Capital of Kenya,Найроби,1,-1.4,-2.8
Capital of Kenya,Найробі,1,-3.9,-1.8
Capital of Kenya,Момбаса,0,-2.0,-1.9
Capital of Kenya,Кампала,0,-2.7,-1.8
Capital of Kenya,Накуру,0,-5.2,-5.0
Author of Faust,Гёте,1,-4.1,-3.0
Author of Faust,Шиллер,0,-3.2,-2.2
Author of Faust,Гейне,0,-5.0,-2.9
""",
}
ASK = """\
How far up does a model rank a right answer? Give a line a candidate: `query`, `candidate`, `right`
(1 or 0; several forms may be right), then a column of scores a language, higher is better. The
files `scores/LANG.parquet` of a polyprobe run do as well, all at once.
"""
READING = """\
**recall@k** is the share of queries with a right candidate among the best k, **mean rank** the rank
of the best right one, from 1: lower is better. **Chance** is what random rankings reach; it is 1
where a query has k candidates or fewer. *all languages* is their mean. Of the files of a run, whose
facts have a relation, figures are the mean of the relations, as in its results.json. The interval
is that of the queries drawn anew, for the mean in all languages at once: the bar's whisker. The
mean rank is in the table only, as its unit is another.
"""


def measure(sheets: Mapping[str, Sheet], k: str = "1, 2, 3", ties: str = "expected") -> Answer:
    """Return recall at each k and the mean rank of all languages together and of each."""
    module = load_beside(__file__)
    scores = read_scores(sheets, marked=True)
    depths = [int(depth) for depth in k.split(",")]
    names = [*(f"recall@{depth}" for depth in depths), "mean_rank"]
    options = {"groups": scores.relations, "clusters": scores.clusters}
    figures, notes = [], []
    for language, rows in scores.rows.items():
        found = module.measure_recall(rows, scores.answers[language], depths, ties, **options)
        for name in names:
            counts = found["n_queries"], found[f"{name}_chance"]
            figures.append(pick(found, (language,), name, *counts))
        if found["n_tied"]:
            share = f"{found['n_tied']:,} of {found['n_queries']:,}"
            notes.append(
                f"{language}: the best right candidate ties with a wrong one in {share} queries."
            )
    if len(scores.rows) > 1:
        figures = [*average(scores, depths, ties, figures), *figures]
    return Answer(figures, notes)


def average(
    scores: Scores, depths: Sequence[int], ties: str, figures: Sequence[Figure]
) -> list[Figure]:
    """Return the means over languages of the figures of each."""
    values = [
        find_values(rows, scores.answers[language], depths, ties)
        for language, rows in scores.rows.items()
    ]
    means = []
    for i, name in enumerate(dict.fromkeys(f.name for f in figures)):
        table = np.column_stack([of_language[i] for of_language in values])
        found = estimate_means(
            [*scores.rows], table, groups=scores.relations, clusters=scores.clusters
        )
        chance = float(np.mean([f.chance for f in figures if f.name == name]))
        means.append(pick(found, ("all languages",), name, len(table), chance, "mean"))
    return means


def find_values(
    rows: Sequence[np.ndarray], answers: Sequence[Sequence[int]], depths: Sequence[int], ties: str
) -> np.ndarray:
    """Return each query's recall at each depth and, last, its rank [depths + 1, queries]."""
    module = load_beside(__file__)
    standing = module.find_standing(rows, answers)
    if ties == "released":
        standing = module.sort_stably(standing)
    found = module.recall_probability(standing, depths)
    return np.vstack([found, module.expected_rank(standing)])


def draw(figures: Sequence[Figure]) -> Any:
    """Return a bar for each language and k."""
    names = dict.fromkeys(f.name for f in figures if f.name != "mean_rank")
    return draw_bars(figures, [*names])


if __name__ == "__main__":
    choices = {"k": ["1, 2, 3", "1, 5, 10", "1, 10, 100"], "ties": ["expected", "released"]}
    serve(
        Page("Recall@k and mean rank", ASK, READING, EXAMPLES, draw, choices, several=True), measure
    )
