"""The Space of recall@k and mean rank: scores as input, figures for each language."""

from functools import partial
from types import ModuleType

import numpy as np

from polyprobe.metrics.shared.rows import TIES
from polyprobe.metrics.space.entries import Output, list_means, note_ties, pick, view_bars
from polyprobe.metrics.space.languages import read_scores
from polyprobe.metrics.space.page import make_page
from polyprobe.metrics.space.sheet import Sheets


def compute(module: ModuleType, sheets: Sheets, k: str, ties: str) -> Output:
    """Compute recall at each k and the mean rank of all languages together and of each."""
    scores, depths = read_scores(sheets, need_right=True), [int(depth) for depth in k.split(",")]
    options = {"groups": scores.relations, "clusters": scores.clusters}
    results, values = {}, {}
    for language, rows in scores.rows.items():
        arguments = rows, scores.answers[language], depths, ties
        results[language] = module.measure_recall(*arguments, **options)
        values[language] = module.recall_per_query(*arguments)
    of, names = [(language,) for language in results], [*next(iter(values.values()))]
    entries = []
    for name in names if len(of) > 1 else ():  # the queries of all languages are drawn at once
        table = np.column_stack([figures[name] for figures in values.values()])
        chances = [result[f"{name}_chance"] for result in results.values()]
        entries += list_means(of, name, table, chances, share=name != "mean_rank", **options)[:1]
    for place, result in zip(of, results.values(), strict=True):
        n = result["n_queries"]
        entries += [pick(result, place, name, n, result[f"{name}_chance"]) for name in names]
    return Output(entries, note_ties(results, "the best correct candidate ties with a wrong one"))


VIEW = partial(view_bars, omit=["mean_rank"])  # its unit is another one
CHOICES = {"k": ["1, 2, 3", "1, 5, 10", "1, 10, 100"], "ties": TIES}
PAGE = make_page(__file__, "recall_at_k", compute, VIEW, CHOICES, several=True)
