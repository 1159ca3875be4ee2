"""The Space of paraphrase consistency: answers as input, figures for each relation."""

from types import ModuleType

from polyprobe.metrics.space.entries import Measure, Output, list_groups, view_bars
from polyprobe.metrics.space.page import make_page
from polyprobe.metrics.space.sheet import Sheets, read_further, read_only, read_texts

COLUMNS = ["relation", "subject", "right", "predictions"]
MEASURES = [*map(Measure, ["consistency", "accuracy", "consistency_accuracy"])]


def compute(module: ModuleType, sheets: Sheets, ambiguous: str) -> Output:
    """Compute the three figures of all relations and of each."""
    sheet = read_only(sheets, *COLUMNS)
    answers = read_further(sheet, COLUMNS, gaps=True)
    subjects = read_texts(sheet["subject"], "subject")
    result = module.measure_consistency(
        answers,
        read_texts(sheet["right"], "right"),
        subjects=subjects if ambiguous == "leave out" else None,
        groups=read_texts(sheet["relation"], "relation"),
    )
    reasons = {
        "one template only": result["n_single_template"],
        "several objects of the subject": result["n_ambiguous"],
    }
    notes = [f"Facts excluded, {why}: {count:,}." for why, count in reasons.items() if count]
    return Output(list_groups(result, "all relations", MEASURES), notes)


CHOICES = {"ambiguous": ["leave out", "keep"]}
PAGE = make_page(__file__, "paraphrase_consistency", compute, view_bars, CHOICES)
