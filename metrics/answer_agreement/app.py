"""The Space of answer agreement: predicted answers as input, figures for each pair."""

from functools import partial
from itertools import combinations
from types import ModuleType

import numpy as np

from polyprobe.metrics.space.entries import Output, list_pairs, pick, view_pairs
from polyprobe.metrics.space.languages import read_language_choices
from polyprobe.metrics.space.page import make_page
from polyprobe.metrics.space.sheet import Sheets


def compute(module: ModuleType, sheets: Sheets) -> Output:
    """Compute agreement and its parts over all languages and for each pair of languages."""
    choices = read_language_choices(sheets)
    languages, table = [*choices.indices], np.column_stack([*choices.indices.values()])
    result = module.measure_agreement(
        table.tolist(), languages, choices.answers, choices.sizes, clusters=choices.clusters
    )
    chance = None if choices.sizes is None else float(np.mean(1 / np.array(choices.sizes)))
    same = module.divide_pairs(table)["agreement"].astype(np.float64)
    # the interval of the mean, as that of a run
    entries = list_pairs(languages, [("agreement", same, chance, True)], choices.clusters)[:1]
    n, every = result["n_queries"], ("all pairs",)
    if chance is not None:
        entries.append(pick(result, every, "kappa", result["n_kappa"], 0.0))
    of_pairs = result["pairs"].values()
    parts = [x for x in next(iter(of_pairs)) if not x.startswith("agreement")]
    entries += [pick(result, every, x, n) for x in (*parts, "right_in_all", "right_in_any")]
    for pair, figures in zip(combinations(languages, 2), of_pairs, strict=True):
        entries.append(pick(figures, pair, "agreement", n, chance))
        entries += [pick(figures, pair, part, n) for part in parts]
    note = (
        f"{choices.tied:,} best scores are shared: the first of these candidates counts; in a "
        "run's results.json they count in equal parts."
    )
    return Output(entries, [note] if choices.tied else [])


PAGE = make_page(__file__, "answer_agreement", compute, partial(view_pairs, low=0), several=True)
