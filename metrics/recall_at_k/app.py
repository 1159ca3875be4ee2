"""The Space of recall@k and mean rank: scores as input, figures for each language."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polyprobe.metrics.pictures.picture import Bars
from polyprobe.metrics.space.entries import Entry, Output, list_means, pick
from polyprobe.metrics.space.languages import read_scores
from polyprobe.metrics.space.page import Page, load_formulas, serve
from polyprobe.metrics.space.sheet import Sheets
from polyprobe.metrics.space.views import view_bars

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
QUESTION = """\
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
    """Compute recall at each k and the mean rank of all languages together and of each."""
    module = load_formulas(__file__, "recall_at_k")
    scores = read_scores(sheets, need_right=True)
    depths = [int(depth) for depth in k.split(",")]
    options = {"groups": scores.relations, "clusters": scores.clusters}
    results, values = {}, {}
    for language, rows in scores.rows.items():
        arguments = (rows, scores.answers[language], depths, ties)
        results[language] = module.measure_recall(*arguments, **options)
        values[language] = module.recall_per_query(*arguments)
    names = [*next(iter(values.values()))]
    entries = [
        pick(result, (language,), name, result["n_queries"], result[f"{name}_chance"])
        for language, result in results.items()
        for name in names
    ]
    if len(results) > 1:
        entries = [_average(name, results, values, options) for name in names] + entries
    notes = [
        f"{language}: the best correct candidate ties with a wrong one in {result['n_tied']:,} of "
        f"{result['n_queries']:,} queries."
        for language, result in results.items()
        if result["n_tied"]
    ]
    return Output(entries, notes)


def _average(
    name: str, results: Mapping[str, Any], values: Mapping[str, Any], options: Mapping[str, Any]
) -> Entry:
    """Average a figure over all languages, whose queries are resampled at once."""
    table = np.column_stack([of_language[name] for of_language in values.values()])
    chances = [result[f"{name}_chance"] for result in results.values()]
    places, is_share = [(language,) for language in results], name != "mean_rank"
    return list_means(places, "all languages", name, table, chances, share=is_share, **options)[0]


def view(entries: Sequence[Entry]) -> Bars:
    """Make one bar for each language and k."""
    return view_bars([entry for entry in entries if entry.name != "mean_rank"])


PAGE = Page(
    title="Recall@k and mean rank",
    question=QUESTION,
    reading=READING,
    examples=EXAMPLES,
    compute=compute,
    view=view,
    choices={"k": ["1, 2, 3", "1, 5, 10", "1, 10, 100"], "ties": ["expected", "released"]},
    several=True,
)


if __name__ == "__main__":
    serve(PAGE)
