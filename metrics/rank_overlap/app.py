"""The Space of RBO, tau-b and top-k overlap: scores as input, figures for each pair."""

from itertools import combinations
from types import ModuleType

import numpy as np

from polyprobe.metrics.shared.rows import TIES
from polyprobe.metrics.space.entries import Output, list_pairs, view_pairs
from polyprobe.metrics.space.languages import read_aligned
from polyprobe.metrics.space.page import make_page
from polyprobe.metrics.space.sheet import Sheets


def compute(module: ModuleType, sheets: Sheets, ties: str, k: str) -> Output:
    """Compute RBO, tau-b and top-k overlap of all pairs of languages together and of each."""
    scores, _, _, clusters = read_aligned(sheets)
    depths = [int(depth) for depth in k.split(",")]
    pairs = combinations(scores.values(), 2)
    overlaps = [module.overlap_per_query(*pair, k=depths, ties=ties) for pair in pairs]
    sizes = [len(row) for row in next(iter(scores.values()))]
    chance = {name: by.mean() for name, by in module.overlap_chance(sizes, k=depths).items()}
    measures = [
        (name, np.column_stack([x[name] for x in overlaps]), chance.get(name, 0), name in chance)
        for name in overlaps[0]
    ]
    return Output(list_pairs([*scores], measures, clusters))


CHOICES = {"ties": TIES, "k": ["1, 2", "1, 3", "1, 5, 10"]}
PAGE = make_page(__file__, "rank_overlap", compute, view_pairs, CHOICES, several=True)
