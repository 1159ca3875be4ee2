"""The Space of inflection delta: two ranks for each query, figures for each relation."""

from functools import partial
from types import ModuleType

from polyprobe.metrics.space.entries import Measure, Output, list_groups, view_bars
from polyprobe.metrics.space.page import make_page
from polyprobe.metrics.space.sheet import Sheets, read_numbers, read_only, read_texts

MEASURES = [Measure("inflection_delta", chance=0.0), Measure("share_inflected", chance=0.5)]


def compute(module: ModuleType, sheets: Sheets, average: str) -> Output:
    """Compute the delta and the share of inflected forms, of all relations and of each."""
    sheet = read_only(sheets, "relation", "label", "inflected")
    ranks = {name: read_numbers(sheet[name], name) for name in ("label", "inflected")}
    for name, column in ranks.items():
        for row, rank in enumerate(column, 1):
            if not 0 <= rank < float("inf"):  # probably a score
                place = f"row {row}, column {name!r}"
                raise ValueError(f"{place} is {rank:g}; expected a rank from 0 or 1")
    groups = read_texts(sheet["relation"], "relation")
    result = module.measure_preference(*ranks.values(), groups=groups, average=average)
    return Output(list_groups(result, f"all relations ({average})", MEASURES))


VIEW = partial(view_bars, omit=["share_inflected"], mark="no preference", share=False)
PAGE = make_page(__file__, "inflection_delta", compute, VIEW, {"average": ["macro", "micro"]})
