"""The Space of answer match: free answers as input, the share of each verdict by language."""

from collections.abc import Sequence
from types import ModuleType

from polyprobe.metrics.pictures.picture import Bars
from polyprobe.metrics.space.entries import Entry, Measure, Output, list_groups, view_bars
from polyprobe.metrics.space.page import make_page
from polyprobe.metrics.space.sheet import Sheets, read_lists, read_only, read_texts


def compute(module: ModuleType, sheets: Sheets, match: str) -> Output:
    """Compute accuracy and the share of each verdict, of all languages and of each."""
    sheet = read_only(sheets, "language", "question", "right", "answer")
    columns = ("question", "answer")
    questions, answers = (["" if x is None else str(x) for x in sheet[name]] for name in columns)
    languages = read_texts(sheet["language"], "language")
    options = {"languages": languages, "questions": questions, "groups": languages, "match": match}
    result = module.match_answers(answers, read_lists(sheet["right"], "right"), **options)
    measures = [Measure("accuracy"), *map(Measure, module.KINDS)]
    return Output(list_groups(result, "all languages", measures))


def draw_accuracy(entries: Sequence[Entry]) -> Bars:
    """Draw the accuracy of each language."""
    return view_bars([entry for entry in entries if entry.name == "accuracy"])


PAGE = make_page(__file__, "answer_match", compute, draw_accuracy, {"match": ["names", "contains"]})
