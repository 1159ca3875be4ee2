"""The Space of contrastive knowledge: probabilities as input, figures for each language."""

from collections.abc import Sequence
from functools import partial

from polyprobe.metrics.space.entries import Measure, Output, list_groups
from polyprobe.metrics.space.page import Page, load_formulas, serve
from polyprobe.metrics.space.sheet import Sheets, read_further, read_numbers, read_only, read_texts
from polyprobe.metrics.space.views import view_bars

COLUMNS = ["language", "stem", "fact", "counterfacts"]
MEASURES = [Measure("accuracy"), Measure("tie_share")]
EXAMPLES = {
    "the card's": """\
language,stem,fact,counterfacts
English,The capital of Kenya is,0.62,0.03|0.01
English,The Prius is made by,0.08,0.21
Croatian,Glavni grad Kenije je,0.004,0.004
""",
    "four facts": """\
language,stem,fact,counterfacts
English,The capital of Kenya is,0.62,0.03|0.01
English,The Prius is made by,0.08,0.21|0.02|0.01
Croatian,Glavni grad Kenije je,0.31,0.02|0.04
Croatian,Prius proizvodi,0.004,0.004
""",
}
QUESTION = """\
Does a model find facts more probable than their counterfacts? Enter one line for each fact:
`language` (or another group), `stem`, the probability of the `fact`, and those of its
`counterfacts`, with `|` between them or in further columns. Not log-probabilities.
"""
READING = """\
**accuracy** is the share of facts more probable than the mean of their counterfacts; over all it is
the mean of the languages. **tie_share** are facts exactly as probable, which count as wrong, or
half if you choose so. With one counterfact each a guess reaches 1/2, with several usually less, so
no chance is given. The interval comes from resampled facts: the bar's whisker.
"""


def compute(sheets: Sheets, ties: str = "wrong") -> Output:
    """Compute accuracy and the share of ties of all languages and of each."""
    sheet = read_only(sheets, *COLUMNS)
    rows = zip(read_numbers(sheet["fact"], "fact"), read_further(sheet, COLUMNS), strict=True)
    predictions = [
        read_row([fact, *counterfacts], row) for row, (fact, counterfacts) in enumerate(rows, 1)
    ]
    groups = read_texts(sheet["language"], "language")
    result = load_formulas(__file__, "contrastive_knowledge").measure_knowledge(
        predictions, ties=ties, groups=groups
    )
    return Output(list_groups(result, "all languages", MEASURES))


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


PAGE = Page(
    title="Contrastive knowledge",
    question=QUESTION,
    reading=READING,
    examples=EXAMPLES,
    compute=compute,
    view=partial(view_bars, names=["accuracy"]),
    choices={"ties": ["wrong", "half"]},
)


if __name__ == "__main__":
    serve(PAGE)
