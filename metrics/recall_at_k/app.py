"""The Space of recall@k and mean rank: scores as input, figures for each language."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from polyprobe.metrics.space.entries import Entry, Output, list_means, pick
from polyprobe.metrics.space.languages import LanguageScores, read_scores
from polyprobe.metrics.space.page import Page, load_formulas, serve
from polyprobe.metrics.space.picture import draw_bars
from polyprobe.metrics.space.sheet import Sheets

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
How high does a model rank a correct answer? Enter one line for each candidate: `query`,
`candidate`, `right` (1 or 0; several forms may be correct), then one column of scores for each
language; higher is better. The files `scores/LANG.parquet` of a polyprobe run are accepted too,
uploaded together.
"""
READING = """\
**recall@k** is the share of queries with a correct candidate among the best k, **mean rank** the
rank of the best correct one, from 1: lower is better. **Chance** is the expectation of random
rankings, 1 for queries with at most k candidates. *all languages* is their mean. For the files of a
run, whose facts have a relation, figures are means over relations, as in its results.json. The
interval comes from resampled queries, for the mean in all languages at once: the bar's whisker. The
mean rank, in a different unit, is in the table only.
"""


def compute(sheets: Sheets, k: str = "1, 2, 3", ties: str = "expected") -> Output:
    """Return recall at each k and the mean rank of all languages together and of each."""
    module = load_formulas(__file__, "recall_at_k")
    scores = read_scores(sheets, marked=True)
    depths = [int(depth) for depth in k.split(",")]
    names = [*(f"recall@{depth}" for depth in depths), "mean_rank"]
    options = {"groups": scores.relations, "clusters": scores.clusters}
    results, notes = {}, []
    for language, rows in scores.rows.items():
        found = module.measure_recall(rows, scores.answers[language], depths, ties, **options)
        results[language] = found
        if found["n_tied"]:
            share = f"{found['n_tied']:,} of {found['n_queries']:,}"
            notes.append(
                f"{language}: the best correct candidate ties with a wrong one in {share} queries."
            )
    entries = [
        pick(found, (language,), name, found["n_queries"], found[f"{name}_chance"])
        for language, found in results.items()
        for name in names
    ]
    if len(results) > 1:
        of = [(language,) for language in results]
        means = []
        for name, table in zip(names, find_values(module, scores, depths, ties), strict=True):
            chances = [found[f"{name}_chance"] for found in results.values()]
            is_share, whole = name != "mean_rank", "all languages"
            means += list_means(of, whole, name, table, chances, share=is_share, **options)[:1]
        entries = means + entries
    return Output(entries, notes)


def find_values(
    module: ModuleType, scores: LanguageScores, depths: Sequence[int], ties: str
) -> np.ndarray:
    """Return the recall at each depth and, last, the rank [depths + 1, queries, languages]."""
    values = []
    for language, rows in scores.rows.items():
        standing = module.find_standing(rows, scores.answers[language])
        if ties == "released":
            standing = module.sort_stably(standing)
        found = module.recall_probability(standing, depths)
        values.append(np.vstack([found, module.expected_rank(standing)]))
    return np.stack(values, axis=2)


def draw(entries: Sequence[Entry]) -> Any:
    """Draw one bar for each language and k."""
    return draw_bars([entry for entry in entries if entry.name != "mean_rank"])


CHOICES = {"k": ["1, 2, 3", "1, 5, 10", "1, 10, 100"], "ties": ["expected", "released"]}
PAGE = Page("Recall@k and mean rank", ASK, READING, EXAMPLES, compute, draw, CHOICES, several=True)


if __name__ == "__main__":
    serve(PAGE)
