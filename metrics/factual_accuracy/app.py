"""The Space of factual accuracy: predicted texts as input, figures for each relation."""

from types import ModuleType

from polyprobe.metrics.space.entries import Measure, Output, list_groups, view_bars
from polyprobe.metrics.space.page import make_page
from polyprobe.metrics.space.sheet import Sheets, read_lists, read_marks, read_only, read_texts

MEASURES = [
    Measure("all", "accuracy"),
    Measure("single", "accuracy_single", "n_single"),
    Measure("multi", "accuracy_multi", "n_multi"),
]


def compute(module: ModuleType, sheets: Sheets, **options: str) -> Output:
    """Compute the accuracy on all, single and multi, of all relations and of each."""
    sheet = read_only(sheets, "relation", "prompt", "right", "single", "prediction")
    predictions = sheet["prediction"]
    result = module.measure_factual_accuracy(
        [None if text is None else str(text).strip() for text in predictions],
        read_lists(sheet["right"], "right"),
        single_token=read_marks(sheet["single"], "single"),
        groups=read_texts(sheet["relation"], "relation"),
        prompts=read_texts(sheet["prompt"], "prompt"),
        **options,
    )
    missing = sum(not str(text or "").strip() for text in predictions)
    note = f"Without a prediction, and therefore wrong: {missing:,} of {len(predictions):,}."
    return Output(list_groups(result, "all relations", MEASURES), [note] if missing else [])


CHOICES = {"language": ["en", "el", "other"], "empty": ["skip", "zero"]}
PAGE = make_page(__file__, "factual_accuracy", compute, view_bars, CHOICES)
