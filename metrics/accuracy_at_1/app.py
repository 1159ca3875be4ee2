"""The Space of accuracy@1: a table of scores as input, one figure for each language."""

from types import ModuleType

import numpy as np

from polyprobe.metrics.shared.rows import TIES
from polyprobe.metrics.space.entries import Output, list_means, note_ties, view_bars
from polyprobe.metrics.space.languages import read_scores
from polyprobe.metrics.space.page import make_page
from polyprobe.metrics.space.sheet import Sheets


def compute(module: ModuleType, sheets: Sheets, ties: str) -> Output:
    """Compute the accuracy of all languages together and of each."""
    scores = read_scores(sheets, need_right=True)
    arguments = {x: (rows, scores.answers[x], ties) for x, rows in scores.rows.items()}
    results = {x: module.measure_accuracy(*y, n_resamples=0) for x, y in arguments.items()}
    values = np.column_stack([module.right_probability(*y) for y in arguments.values()])
    of, chances = [(x,) for x in results], [result["chance"] for result in results.values()]
    clusters = scores.clusters
    entries = list_means(of, "accuracy_at_1", values, chances, share=True, clusters=clusters)
    return Output(entries, note_ties(results, "the best score is shared"))


PAGE = make_page(__file__, "accuracy_at_1", compute, view_bars, {"ties": TIES}, several=True)
