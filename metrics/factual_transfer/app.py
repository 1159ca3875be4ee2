"""The Space of factual transfer: right answers by language as input, the scores of X-FaKT."""

from collections.abc import Sequence
from types import ModuleType

from polyprobe.metrics.pictures.picture import Bars
from polyprobe.metrics.space.entries import Entry, Output, pick, view_bars
from polyprobe.metrics.space.page import make_page
from polyprobe.metrics.space.sheet import Sheets, read_marks, read_only, read_texts


def compute(module: ModuleType, sheets: Sheets, digits: str) -> Output:
    """Compute the scores of all languages, and the accuracy by language and country."""
    sheet = read_only(sheets, "query", "own")
    homes = read_texts(sheet["own"], "own")
    columns = {x: cells for x, cells in sheet.items() if x not in ("query", "own")}
    marks = [read_marks(cells, name) for name, cells in columns.items()]
    right = [[*map(int, row)] for row in zip(*marks, strict=True)]
    rounded = int(digits) if digits.isdecimal() else None
    result = module.measure_transfer(right or [[]], [*columns], homes, rounded)
    return Output([pick(result, ("all languages",), x, len(right)) for x in module.NAMES])


def draw_scores(entries: Sequence[Entry]) -> Bars:
    """Draw the scores, one bar each."""
    return view_bars([entry._replace(of=(entry.name,), name="score") for entry in entries])


PAGE = make_page(__file__, "factual_transfer", compute, draw_scores, {"digits": ["all", "2"]})
