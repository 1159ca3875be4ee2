"""The Space of RankC: scores of several languages as input, figures for each pair."""

from itertools import combinations
from types import ModuleType

import numpy as np

from polyprobe.metrics.shared.ranks import WEIGHTS
from polyprobe.metrics.shared.rows import TIES
from polyprobe.metrics.space.entries import Output, list_pairs, view_pairs
from polyprobe.metrics.space.languages import read_aligned
from polyprobe.metrics.space.page import make_page
from polyprobe.metrics.space.sheet import Sheets


def compute(module: ModuleType, sheets: Sheets, weights: str, ties: str) -> Output:
    """Compute RankC, plain and adjusted, of all pairs of languages together and of each."""
    scores, _, _, clusters = read_aligned(sheets)
    if ties == "expected":
        values = module.rankc_pairs(scores, weights)
    else:
        pairs = combinations(scores.values(), 2)
        values = np.column_stack([module.rankc_per_query(*pair, weights, ties) for pair in pairs])
    sizes = np.array([len(row) for row in next(iter(scores.values()))])
    chance = module.rankc_chance(sizes, weights)
    room = np.where(sizes > 1, 1 - chance, np.nan)
    adjusted = (values - chance[:, None]) / room[:, None]
    measures = [("rankc", values, chance.mean(), True), ("rankc_adjusted", adjusted, 0, False)]
    return Output(list_pairs([*scores], measures, clusters))


CHOICES = {"weights": [*WEIGHTS], "ties": TIES}
PAGE = make_page(__file__, "rankc", compute, view_pairs, CHOICES, several=True)
