"""The audit as one HTML file without network access and without scripts."""

from collections.abc import Iterator
from importlib.resources import files
from itertools import combinations
from typing import NamedTuple

from jinja2 import Environment

from .audit import Audit
from .report import table_rows, totals

DEFINITIONS = {
    "not parallel": "rows whose candidates are other entities, or in another order, than in the "
    "reference: by ids if all languages have them, otherwise by the pairs of answers observed in "
    "the data. For a homonym any observed translation counts as the same entity.",
    "second answer": "rows with a distractor that is the answer of another row with the same "
    "prompt, or that the data itself gives for the same subject and relation.",
    "label twice": "rows in which two candidates have the same label, ignoring case.",
    "invisible": "rows with an invisible character that is not part of the spelling, such as "
    "U+200B, U+00A0 or U+FEFF, in prompt, subject or candidates.",
    "mixed alphabets": "rows with a word in two of Latin, Greek and Cyrillic where one would do, "
    "such as a Latin A in a Greek word, in prompt, subject or candidates.",
    "prompt shared": "rows whose prompt is that of another row with another answer.",
    "last": "answers that are the last of several candidates.",
    "position p": "p-value of a chi-square test that the positions of the answers are random.",
    "labels as in": "distinct labels spelled as in the reference, of those compared.",
    "ceiling": "RankC of a model that ranks the same entities alike in all languages, for random "
    "rankings and for random rankings with the answer first. A value below 1 is due to the "
    "dataset.",
}


class Cell(NamedTuple):
    """One pair of languages: darkness in per cent, tooltip and text."""

    depth: str
    title: str
    text: str


class HeatMap(NamedTuple):
    """The values of all pairs as rows of cells."""

    title: str
    lowest: float
    rows: list[tuple[str, list[Cell]]]


def render_page(audit: Audit) -> str:
    """Return the page: totals, table, definitions, and a heat map for each kind of ceiling."""
    folder = files(__package__)
    template = Environment(autoescape=True, keep_trailing_newline=True).from_string(
        folder.joinpath("page.html").read_text(encoding="utf-8")
    )
    head, *lines = table_rows(audit)
    page: str = template.render(
        title=f"Audit of {audit.signature.split('|')[0].removeprefix('data:')}",
        style=folder.joinpath("audit.css").read_text(encoding="utf-8"),
        totals=totals(audit),
        head=head,
        lines=lines,
        definitions=DEFINITIONS,
        maps=list(draw_maps(audit)),
        languages=list(audit.languages),
        signature=audit.signature,
    )
    return page


def draw_maps(audit: Audit) -> Iterator[HeatMap]:
    """Yield the two heat maps of the ceiling, or none for a single language."""
    languages = list(audit.languages)
    for kind, values in (
        ("random rankings", audit.ceiling.random),
        ("answer first", audit.ceiling.answer_first),
    ):
        if values:
            both = {pair: values["-".join(pair)] for pair in combinations(languages, 2)}
            lowest = min(both.values())
            rows = [
                (one, [draw_cell(one, other, both, lowest) for other in languages])
                for one in languages
            ]
            yield HeatMap(f"Ceiling of RankC, {kind}", lowest, rows)


def draw_cell(one: str, other: str, both: dict[tuple[str, str], float], lowest: float) -> Cell:
    """Return the cell of a pair; the lowest value is darkest, and the diagonal has no text."""
    value = both.get((one, other), both.get((other, one), 1.0))
    depth = (1 - value) / (1 - lowest) if lowest < 1 else 0.0
    text = "" if one == other else f"{value:.3f}".removeprefix("0")
    return Cell(f"{100 * depth:.0f}", f"{one}-{other} {value:.4f}", text)
