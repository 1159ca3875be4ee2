"""The Space of factual accuracy: predicted texts as input, figures for each relation."""

from polyprobe.metrics.space.entries import Measure, Output, list_groups
from polyprobe.metrics.space.page import Page, load_formulas, serve
from polyprobe.metrics.space.sheet import Sheets, read_lists, read_marks, read_only, read_texts
from polyprobe.metrics.space.views import view_bars

FIGURES = ["accuracy", "accuracy_single", "accuracy_multi"]
COUNTS = ["n_queries", "n_single", "n_multi"]
MEASURES = [*map(Measure, ["all", "single", "multi"], FIGURES, COUNTS)]
EXAMPLES = {
    "the card's": """\
relation,prompt,right,single,prediction
P1412,The language of [X] was [Y] .,Greek|Modern Greek,1,greek
P1412,The language of [X] was [Y] .,Spanish,1,his own words
P17,The country of [X] is [Y] .,United States|USA,0,USA
P17,The country of [X] is [Y] .,Kenya,1,
"""
}
QUESTION = """\
How often is a freely predicted object correct? Enter one line for each fact: `relation`, `prompt`
with `[Y]` for the object, the `right` texts (`|` between several), `single` (1 if the object is one
token of the model, 0 if it is more), and the `prediction` (empty for none).
"""
READING = """\
**1** is always right. A relation's figure is the share of its facts, over all it is the mean of the
relations, for all facts, those whose object is a single token and those with several (multi). Case
does not count; in Greek (el) stress marks do not; in English (en) the full stop after `[Y]` may
replace that of the correct text. `empty`: value of a relation without such objects. There is no
chance level, since any text may be predicted. The whiskers are 95% intervals.
"""


def compute(sheets: Sheets, language: str = "en", empty: str = "skip") -> Output:
    """Compute the accuracy on all, single and multi, of all relations and of each."""
    sheet = read_only(sheets, "relation", "prompt", "right", "single", "prediction")
    predictions = sheet["prediction"]
    result = load_formulas(__file__, "factual_accuracy").measure_factual_accuracy(
        [str(text).strip() if text is not None else None for text in predictions],
        read_lists(sheet["right"], "right"),
        single_token=read_marks(sheet["single"], "single"),
        groups=read_texts(sheet["relation"], "relation"),
        prompts=read_texts(sheet["prompt"], "prompt"),
        language=language,
        empty=empty,
    )
    missing = sum(not str(text or "").strip() for text in predictions)
    note = f"Without a prediction, and therefore wrong: {missing:,} of {len(predictions):,}."
    return Output(list_groups(result, "all relations", MEASURES), [note] if missing else [])


PAGE = Page(
    title="Factual accuracy",
    question=QUESTION,
    reading=READING,
    examples=EXAMPLES,
    compute=compute,
    view=view_bars,
    choices={"language": ["en", "el", "other"], "empty": ["skip", "zero"]},
)


if __name__ == "__main__":
    serve(PAGE)
