"""The Space of accuracy@1: a table of scores as input, one figure for each language."""

from types import ModuleType

import numpy as np

from polyprobe.metrics.shared.rows import TIES
from polyprobe.metrics.space.entries import Output, list_means
from polyprobe.metrics.space.languages import read_scores
from polyprobe.metrics.space.page import make_page, serve
from polyprobe.metrics.space.sheet import Sheets
from polyprobe.metrics.space.views import view_bars


def compute(module: ModuleType, sheets: Sheets, ties: str = "expected") -> Output:
    """Compute the accuracy of all languages together and of each."""
    scores, right, chances, notes = read_scores(sheets, need_right=True), [], [], []
    for language, rows in scores.rows.items():
        arguments = rows, scores.answers[language], ties
        right.append(module.right_probability(*arguments))
        result = module.measure_accuracy(*arguments, n_resamples=0)
        chances.append(result["chance"])
        if result["n_tied"]:
            share = f"{result['n_tied']:,} of {result['n_queries']:,}"
            notes.append(f"{language}: the best score is shared in {share} queries.")
    of, values = [(language,) for language in scores.rows], np.column_stack(right)
    clusters = scores.clusters
    entries = list_means(of, "accuracy_at_1", values, chances, share=True, clusters=clusters)
    return Output(entries, notes)


CHOICES = {"ties": TIES}
PAGE = make_page(__file__, "accuracy_at_1", compute, view_bars, CHOICES, several=True)

if __name__ == "__main__":
    serve(PAGE)
