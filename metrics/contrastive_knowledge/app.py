"""The Space of contrastive knowledge: probabilities as input, figures for each language."""

from collections.abc import Sequence
from functools import partial
from types import ModuleType

from polyprobe.metrics.space.entries import Measure, Output, list_groups, view_bars
from polyprobe.metrics.space.page import make_page
from polyprobe.metrics.space.sheet import Sheets, read_further, read_numbers, read_only, read_texts

COLUMNS = ["language", "stem", "fact", "counterfacts"]


def compute(module: ModuleType, sheets: Sheets, ties: str) -> Output:
    """Compute accuracy and the share of ties of all languages and of each."""
    sheet = read_only(sheets, *COLUMNS)
    rows = zip(read_numbers(sheet["fact"], "fact"), read_further(sheet, COLUMNS), strict=True)
    predictions = [
        read_row([fact, *counterfacts], row) for row, (fact, counterfacts) in enumerate(rows, 1)
    ]
    groups = read_texts(sheet["language"], "language")
    result = module.measure_knowledge(predictions, ties=ties, groups=groups)
    return Output(list_groups(result, "all languages", [*map(Measure, ("accuracy", "tie_share"))]))


def read_row(cells: Sequence[float | str], row: int) -> list[float]:
    """Read the probabilities of a fact and its counterfacts; other cells are an error."""
    for cell in cells:
        try:
            valid = float(cell) >= 0
        except ValueError:
            valid = False
        if not valid:
            raise ValueError(f"row {row} has {cell}; expected probabilities, with | between them")
    return [float(cell) for cell in cells]


VIEW = partial(view_bars, omit=["tie_share"])
PAGE = make_page(__file__, "contrastive_knowledge", compute, VIEW, {"ties": ["wrong", "half"]})
