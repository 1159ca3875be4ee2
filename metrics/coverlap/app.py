"""The Space of COverlap: predicted answers as input, one figure for each pair of languages."""

from functools import partial
from itertools import combinations
from types import ModuleType

import numpy as np

from polyprobe.metrics.space.entries import Output, list_figure, view_pairs
from polyprobe.metrics.space.languages import read_language_choices
from polyprobe.metrics.space.page import make_page
from polyprobe.metrics.space.sheet import Sheets


def compute(module: ModuleType, sheets: Sheets) -> Output:
    """Compute COverlap of all pairs of languages together and of each."""
    choices = read_language_choices(sheets)
    pairs, right = [*combinations(choices.indices, 2)], choices.right
    figure = module.find_coverlap(dict(zip(choices.indices, right.T, strict=True)))
    defined = np.column_stack([first + second > 0 for first, second in combinations(right.T, 2)])
    accuracies = combinations(right.mean(axis=0).tolist(), 2)
    chances = [a * b / (a + b - a * b) if a + b else None for a, b in accuracies]
    clusters = choices.clusters
    entries = list_figure(figure, pairs, "coverlap", defined, chances, clusters=clusters)
    note = f"{choices.tied:,} best scores are shared: these candidates count in equal parts."
    return Output(entries, [note] if choices.tied else [])


PAGE = make_page(__file__, "coverlap", compute, partial(view_pairs, low=0), several=True)
