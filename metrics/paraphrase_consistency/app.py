"""The Space of paraphrase consistency: answers as input, figures for each relation."""

from polyprobe.metrics.space.entries import Measure, Output, list_groups
from polyprobe.metrics.space.page import Page, load_formulas, serve
from polyprobe.metrics.space.sheet import Sheets, read_further, read_only, read_texts
from polyprobe.metrics.space.views import view_bars

COLUMNS = ["relation", "subject", "right", "predictions"]
MEASURES = [*map(Measure, ["consistency", "accuracy", "consistency_accuracy"])]
EXAMPLES = {
    "the card's": """\
relation,subject,right,predictions
P19,Albert Einstein,Ulm,Ulm|Ulm|Bern
P19,Augustus,Rome,Paris|Paris|Paris
P1376,Nairobi,Kenya,Kenya|Kenya
"""
}
QUESTION = """\
Does a model give the same answer to paraphrases of a question, and the correct one? Enter one line
for each fact: `relation`, `subject`, the `right` object, and the `predictions`, one for each
template, with `|` between them or in further columns.
"""
READING = """\
**consistency** is the share of pairs of templates with the same answer, **accuracy** that of
templates with the correct one, **consistency_accuracy** that of pairs that agree and are right: for
each fact, then the mean of a relation's facts, then of the relations. There is no chance level. A
subject with several correct objects in a relation is left out unless you keep it, and so is a fact
with one template. The whiskers are 95% intervals.
"""


def compute(sheets: Sheets, ambiguous: str = "leave out") -> Output:
    """Compute the three figures of all relations and of each."""
    sheet = read_only(sheets, *COLUMNS)
    answers = read_further(sheet, COLUMNS, gaps=True)
    subjects = read_texts(sheet["subject"], "subject")
    result = load_formulas(__file__, "paraphrase_consistency").measure_consistency(
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


PAGE = Page(
    title="Paraphrase consistency",
    question=QUESTION,
    reading=READING,
    examples=EXAMPLES,
    compute=compute,
    view=view_bars,
    choices={"ambiguous": ["leave out", "keep"]},
)


if __name__ == "__main__":
    serve(PAGE)
