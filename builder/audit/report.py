"""The audit as JSON, and as tables for a terminal."""

from collections.abc import Iterator
from typing import Any

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from .audit import Audit, LanguageAudit
from .checks import CHECKS

HEADS = {
    "rows_with_second_answer": "second answer",
    "rows_with_duplicate_labels": "label twice",
    "rows_with_invisible_characters": "invisible",
    "rows_with_mixed_alphabets": "mixed alphabets",
    "rows_with_missing_slot": "no slot",
    "rows_with_several_slots": "several slots",
    "rows_with_one_candidate": "one candidate",
    "rows_without_answer": "no answer",
    "rows_with_other_fact": "other fact",
    "rows_with_shared_prompt": "prompt shared",
}
"""{code of CHECKS: heading of its column}."""


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
        "languages": {name: language_json(own) for name, own in audit.languages.items()},
        "ceiling": audit.ceiling._asdict(),
    }


def language_json(own: LanguageAudit) -> dict[str, Any]:
    """Return the figures of one language; `to_en` in keys means the reference in any language."""
    return {
        "rows_not_parallel_to_en": own.not_parallel,
        "rows_not_parallel_to_en_strict": own.not_parallel_strict,
        "candidates_not_judged": own.not_judged,
        **own.rows,
        "answer_positions": own.positions,
        "answer_positions_expected": own.expected,
        "answers_last": own.last,
        "answer_position_p_value": own.p_value,
        "labels_identical_to_en": own.labels_identical,
        "labels_compared": own.labels_compared,
    }


def audit_table(audit: Audit) -> Group:
    """Return the audit for a rich console: one line for each language, then the totals."""
    [_, *head], *lines = table_rows(audit)
    table = Table("", *head, title=audit.signature.split("|")[0], box=box.SIMPLE_HEAD, padding=0)
    for line in lines:
        table.add_row(*line)
    for column in table.columns[1:]:
        column.justify = "right"
    return Group(table, *(Text(line) for line in totals(audit)), Text(audit.signature))


def table_rows(audit: Audit) -> Iterator[list[str]]:
    """Yield the headings and one line for each language, without columns of empty checks."""
    codes = [c for c in CHECKS if any(own.rows[c] for own in audit.languages.values())]
    last = ["last", "position p", "labels as in", "ceiling", "answer first"]
    last[2] += f" {audit.reference}"
    yield ["language", f"not parallel to {audit.reference}", *(HEADS[c] for c in codes), *last]
    for language, own in audit.languages.items():
        yield [
            language,
            str(own.not_parallel),
            *(str(own.rows[code]) for code in codes),
            share(own.last, sum(own.positions)),
            "–" if own.p_value is None else f"{own.p_value:.2g}",
            share(own.labels_identical, own.labels_compared),
            *(
                "–" if language == audit.reference else number(find_pair(values, audit, language))
                for values in (audit.ceiling.random, audit.ceiling.answer_first)
            ),
        ]


def find_pair(values: dict[str, float], audit: Audit, language: str) -> float | None:
    """Return the ceiling of a language and the reference, None if there is none."""
    pairs = (f"{language}-{audit.reference}", f"{audit.reference}-{language}")
    return next((values[pair] for pair in pairs if pair in values), None)


def share(part: int, whole: int) -> str:
    """Return a share in per cent, `–` if `whole` is 0."""
    return f"{100 * part / whole:.1f}%" if whole else "–"


def number(value: float | None) -> str:
    """Return a ceiling with three decimals, `–` for None."""
    return "–" if value is None else f"{value:.3f}"


def totals(audit: Audit) -> list[str]:
    """Return the figures of the whole dataset, one line for each."""
    clean = [HEADS[c] for c in CHECKS if not any(o.rows[c] for o in audit.languages.values())]
    strict = max(own.not_parallel_strict - own.not_parallel for own in audit.languages.values())
    unjudged = sum(own.not_judged for own in audit.languages.values())
    symmetric = ", ".join(f"{name} {count}" for name, count in audit.symmetric.items())
    ceiling = audit.ceiling
    return [
        f"{audit.rows} rows, {audit.rows_parallel_in_all} parallel in all "
        f"{len(audit.languages)} languages (reference: {audit.reference})",
        f"entities by id in {audit.rows_with_ids} rows, by the dictionary of answers in "
        f"{audit.rows - audit.rows_with_ids}; not judged: {unjudged} candidates",
        "homonyms: any observed translation counts; if none did, up to "
        f"{strict} rows more a language",
        f"symmetric relations: {share(sum(audit.symmetric.values()), audit.rows)} ({symmetric})",
        f"nothing found: {', '.join(clean) or 'nowhere'}",
        f"ceiling: {ceiling.draws} draws, standard error at most "
        f"{ceiling.standard_error:.5f}, {ceiling.rows_left_out} rows left out",
    ]
