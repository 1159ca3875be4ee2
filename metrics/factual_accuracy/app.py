"""Show factual accuracy in the browser: predicted texts in, figures for every relation out."""

from collections.abc import Mapping, Sequence
from typing import Any

from polyprobe.metrics.space.answer import Answer, Figure, pick
from polyprobe.metrics.space.page import Page, load_beside, serve
from polyprobe.metrics.space.picture import draw_bars
from polyprobe.metrics.space.sheet import Sheet, need, read_lists, read_marks, read_only, read_texts

NAMES = {"all": "accuracy", "single": "accuracy_single", "multi": "accuracy_multi"}
COUNTS = {"all": "n_queries", "single": "n_single", "multi": "n_multi"}
EXAMPLES = {
    "the card's": """\
relation,prompt,right,single,prediction
P1412,The language of [X] was [Y] .,Greek|Modern Greek,1,greek
P1412,The language of [X] was [Y] .,Spanish,1,his own words
P17,The country of [X] is [Y] .,United States|USA,0,USA
P17,The country of [X] is [Y] .,Kenya,1,
"""
}
ASK = """\
How often is a freely predicted object a right one? Give a line a fact: `relation`, `prompt` with
`[Y]` for the object, the `right` texts (`|` between several), `single` (1 if the object is one
token of the model, 0 if it is more), and the `prediction` (empty for none).
"""
READING = """\
**1** is always right. A relation's figure is the share of its facts, over all it is the mean of the
relations, for all facts, those whose object is a single token and those with several (multi). Case
does not count; in Greek (el) stress marks do not; in English (en) the full stop after `[Y]` may
stand for that of the right text. `empty` is what a relation without such objects counts. There is
no chance level, as any text may be predicted. The whiskers are 95 % intervals.
"""


def measure(sheets: Mapping[str, Sheet], language: str = "en", empty: str = "skip") -> Answer:
    """Return the accuracy on all, single and multi, of all relations and of each."""
    columns = need(read_only(sheets), "relation", "prompt", "right", "single", "prediction")
    relations, prompts, right, single, predictions = columns
    found = load_beside(__file__).measure_accuracy(
        [str(text).strip() if text is not None else None for text in predictions],
        read_lists(right, "right"),
        single_token=read_marks(single, "single"),
        groups=read_texts(relations, "relation"),
        prompts=read_texts(prompts, "prompt"),
        language=language,
        empty=empty,
    )
    parts = [("all relations", found), *found["by_group"].items()]
    missing = sum(not str(text or "").strip() for text in predictions)
    return Answer(
        [
            pick(part, (name,), NAMES[objects], part[count], key=objects)
            for name, part in parts
            for objects, count in COUNTS.items()
        ],
        [f"Without a prediction, and so wrong: {missing:,} of {len(predictions):,}."]
        if missing
        else [],
    )


def draw(figures: Sequence[Figure]) -> Any:
    """Return three bars a relation."""
    return draw_bars(figures, [*NAMES.values()])


if __name__ == "__main__":
    choices = {"language": ["en", "el", "other"], "empty": ["skip", "zero"]}
    serve(Page("Factual accuracy", ASK, READING, EXAMPLES, draw, choices), measure)
