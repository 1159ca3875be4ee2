"""The audit as JSON, as tables for a terminal, and as an HTML page."""

from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import combinations
from typing import Any, NamedTuple

from jinja2 import Environment
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from . import Audit, LanguageAudit
from .checks import CHECKS

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
    "answer last": "answers that are the last of several candidates.",
    "p of positions": "p-value of a chi-square test that the positions of the answers are random.",
    "labels as in": "distinct labels spelled as in the reference, of those compared.",
    "ceiling": "RankC with the reference of a model that ranks the same entities alike in all "
    "languages, at random. A value below 1 is due to the dataset.",
    "ceiling, answer first": "the same for random rankings with the answer first.",
}


def to_json(audit: Audit) -> dict[str, Any]:
    """Return the audit as JSON; counts are numbers of rows unless their keys say otherwise."""
    return {
        "signature": audit.signature,
        "reference": audit.reference,
        "rows": audit.rows,
        "rows_parallel_in_all": audit.rows_parallel_in_all,
        "rows_with_ids": audit.rows_with_ids,
        "homonyms": "any observed translation counts; strict: a label with several never does",
        "rows_of_symmetric_relations": audit.symmetric,
        "share_of_symmetric_relations": sum(audit.symmetric.values()) / audit.rows,
        "languages": {name: language_json(counts) for name, counts in audit.languages.items()},
        "ceiling": audit.ceiling._asdict(),
        "accuracy_without_a_model": {
            "overall": audit.baselines[""]._asdict(),
            "by_relation": {
                relation: baseline._asdict()
                for relation, baseline in audit.baselines.items()
                if relation
            },
        },
    }


def language_json(counts: LanguageAudit) -> dict[str, Any]:
    """Return the figures of one language; `to_en` in keys means the reference in any language."""
    return {
        "rows_not_parallel_to_en": counts.not_parallel,
        "rows_not_parallel_to_en_strict": counts.not_parallel_strict,
        "candidates_not_judged": counts.not_judged,
        **counts.rows,
        "answer_positions": counts.positions,
        "answer_positions_expected": counts.expected,
        "answers_last": counts.last,
        "answer_position_p_value": counts.p_value,
        "labels_identical_to_en": counts.labels_identical,
        "labels_compared": counts.labels_compared,
    }


def audit_table(audit: Audit) -> Group:
    """Return the audit for a rich console: a line for each language, their meanings, the totals."""
    [_, *head], *lines = table_rows(audit)
    table = Table("", *head, title=audit.signature.split("|")[0], box=box.SIMPLE_HEAD, padding=0)
    for line in lines:
        table.add_row(*line)
    for column in table.columns[1:]:
        column.justify = "right"
    meanings = [f"{name}: {text}" for name, text in DEFINITIONS.items() if is_column(name, head)]
    texts = [*totals(audit), audit.signature, "", *meanings]
    return Group(table, *map(Text, texts))


def is_column(name: str, head: Sequence[str]) -> bool:
    """Return whether a table has the column that a definition explains."""
    return any(column == name or column.startswith(f"{name} ") for column in head)


def table_rows(audit: Audit) -> Iterator[list[str]]:
    """Yield the headings and one line for each language, without columns of empty checks."""
    codes = [code for code in CHECKS if has_rows(code, audit)]
    headings = [CHECKS[code].heading for code in codes]
    *names, labels, ceiling, first = list(DEFINITIONS)[-5:]
    last = [*names, f"{labels} {audit.reference}", ceiling, first]
    yield ["language", f"not parallel to {audit.reference}", *headings, *last]
    for language, counts in audit.languages.items():
        ceilings = (audit.ceiling.random, audit.ceiling.answer_first)
        pair = (find_pair(values, audit, language) for values in ceilings)
        yield [
            language,
            str(counts.not_parallel),
            *(str(counts.rows[code]) for code in codes),
            format_share(counts.last, sum(counts.positions)),
            "–" if counts.p_value is None else f"{counts.p_value:.2g}",
            format_share(counts.labels_identical, counts.labels_compared),
            *map(decimals, pair),
        ]


def has_rows(code: str, audit: Audit) -> bool:
    """Return whether a check found a row in some language."""
    return any(counts.rows[code] for counts in audit.languages.values())


def find_pair(values: dict[str, float], audit: Audit, language: str) -> float | None:
    """Return the ceiling of a language and the reference, None if there is none."""
    return values.get(f"{language}-{audit.reference}", values.get(f"{audit.reference}-{language}"))


def format_share(part: int, total: int) -> str:
    """Return a share in per cent, `–` if `total` is 0."""
    return f"{100 * part / total:.1f}%" if total else "–"


def decimals(value: float | None) -> str:
    """Return a figure with three decimals, `–` for None."""
    return "–" if value is None else f"{value:.3f}"


def totals(audit: Audit) -> list[str]:
    """Return the figures of the whole dataset, one line for each."""
    clean = [check.heading for code, check in CHECKS.items() if not has_rows(code, audit)]
    strict = max(
        counts.not_parallel_strict - counts.not_parallel for counts in audit.languages.values()
    )
    unjudged = sum(counts.not_judged for counts in audit.languages.values())
    symmetric = ", ".join(f"{name} {count}" for name, count in audit.symmetric.items() if count)
    ceiling, baseline = audit.ceiling, audit.baselines[""]
    by_answers = audit.rows - audit.rows_with_ids
    rest = f", by translations that the answers give in {by_answers} rows" if by_answers else ""
    lines = [
        (
            True,
            f"{audit.rows} rows, {audit.rows_parallel_in_all} parallel in all "
            f"{len(audit.languages)} languages (reference: {audit.reference})",
        ),
        (True, f"candidates compared by id in {audit.rows_with_ids} rows{rest}"),
        (unjudged, f"candidates that cannot be compared: {unjudged}"),
        (
            strict,
            f"up to {strict} more rows per language are not parallel if a label with several "
            "translations never counts as the same entity",
        ),
        (
            symmetric,
            "rows of relations that hold in both directions: "
            f"{format_share(sum(audit.symmetric.values()), audit.rows)} ({symmetric})",
        ),
        (clean, f"nothing found: {', '.join(clean)}"),
        (
            baseline.chance is not None,
            f"accuracy without a model: chance {decimals(baseline.chance)}, candidates ranked by "
            f"how many other facts of the relation they answer {decimals(baseline.frequency)}",
        ),
        (
            ceiling.draws,
            f"ceiling: mean of {ceiling.draws} random rankings, standard error at most "
            f"{ceiling.standard_error:.5f}",
        ),
        (ceiling.rows_left_out, f"ceiling: {ceiling.rows_left_out} rows left out"),
    ]
    return [line for is_shown, line in lines if is_shown]


class MapCell(NamedTuple):
    """One pair of languages: darkness in per cent, tooltip and text."""

    depth: str
    title: str
    text: str


class HeatMap(NamedTuple):
    """The values of all pairs as rows of cells."""

    title: str
    lowest: float
    rows: list[tuple[str, list[MapCell]]]


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
            figures = {pair: values["-".join(pair)] for pair in combinations(languages, 2)}
            lowest = min(figures.values())
            rows = [
                (first, [draw_cell(first, second, figures, lowest) for second in languages])
                for first in languages
            ]
            yield HeatMap(f"Ceiling of RankC, {kind}", lowest, rows)


def draw_cell(
    first: str, second: str, figures: dict[tuple[str, str], float], lowest: float
) -> MapCell:
    """Return the cell of a pair; the lowest value is darkest, and the diagonal has no text."""
    value = figures.get((first, second), figures.get((second, first), 1.0))
    depth = (1 - value) / (1 - lowest) if lowest < 1 else 0.0
    text = "" if first == second else f"{value:.3f}".removeprefix("0")
    return MapCell(f"{100 * depth:.0f}", f"{first}-{second} {value:.4f}", text)
