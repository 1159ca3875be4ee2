"""The audit as JSON and as a finding."""

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Template

from polyprobe.metrics.pictures.picture import Heat, Picture
from polyprobe.report.finding import Column, Finding, Part, Role, Table
from polyprobe.report.show import format_value
from polyprobe.system.files import read_toml

from . import Audit
from .checks import CHECKS

DEFINITIONS = read_toml(__package__, "definitions.toml")


def to_json(audit: Audit) -> dict[str, Any]:
    """Return the audit as JSON; counts are numbers of rows unless their keys say otherwise."""
    baselines = {name: baseline._asdict() for name, baseline in audit.baselines.items()}
    return {
        "signature": audit.signature,
        "reference": audit.reference,
        "rows": audit.rows,
        "rows_parallel_in_all": audit.rows_parallel_in_all,
        "rows_with_ids": audit.rows_with_ids,
        "homonyms": "any observed translation counts; strict: a label with several never does",
        "rows_of_symmetric_relations": audit.symmetric,
        "share_of_symmetric_relations": sum(audit.symmetric.values()) / audit.rows,
        "languages": audit.languages,
        "ceiling": audit.ceiling._asdict(),
        "parts": audit.parts,
        "accuracy_without_a_model": {"overall": baselines.pop(""), "by_relation": baselines},
    }


def make_audit_finding(audit: Audit) -> Finding:
    """Make the finding: a line for each language, totals, meanings, and maps of the ceilings."""
    [_, *head], *lines = table_rows(audit)
    columns = [Column("", Role.NAME), *(Column(name, Role.TEXT) for name in head)]
    meanings = [
        f"{name}: {text}"
        for name, text in DEFINITIONS.items()
        if any(f"{column} ".startswith(f"{name} ") for column in head)
    ]
    pictures: dict[str, Picture] = {}
    languages, ceiling = list(audit.languages), audit.ceiling
    for name, values in (("random", ceiling.random), ("answer first", ceiling.answer_first)):
        if values:
            cells = np.full((len(languages), len(languages)), np.nan)
            cells[np.triu_indices(len(languages), 1)] = [*values.values()]
            title, cells = f"ceiling of RankC, {name}", np.fmax(cells, cells.T)
            pictures[name] = Heat(title, languages, languages, cells, "RankC", high=1.0)
    return Finding(
        f"audit of {audit.signature.split('|')[0].removeprefix('data:')}",
        [Part("Counts and ceilings", [Table(columns, lines, dense=True)], [*pictures])],
        notes=[*totals(audit), audit.signature, *meanings],
        pictures=pictures,
        choices={name: {"ceiling": name} for name in pictures},
    )


def table_rows(audit: Audit) -> Iterator[list[str]]:
    """Yield the headings and one line for each language, without columns of empty checks."""
    codes = [code for code in CHECKS if has_rows(code, audit)]
    headings = [CHECKS[code].heading for code in codes]
    *names, labels, ceiling, first = list(DEFINITIONS)[-5:]
    last = [*names, f"{labels} {audit.reference}", ceiling, first]
    yield ["language", f"not parallel to {audit.reference}", *headings, *last]
    for language, counts in audit.languages.items():
        ceilings = (audit.ceiling.random, audit.ceiling.answer_first)
        pair = (format_value(find_pair(values, audit, language)) for values in ceilings)
        p_value = counts["answer_position_p_value"]
        rows = (str(counts[code]) for code in ("rows_not_parallel_to_en", *codes))
        positions = format_share(counts["answers_last"], sum(counts["answer_positions"]))
        identical = format_share(counts["labels_identical_to_en"], counts["labels_compared"])
        chi_squared = "–" if p_value is None else f"{p_value:.2g}"
        yield [language, *rows, positions, chi_squared, identical, *pair]


def has_rows(code: str, audit: Audit) -> bool:
    """Return whether a check found a row in some language."""
    return any(counts[code] for counts in audit.languages.values())


def find_pair(values: dict[str, float], audit: Audit, language: str) -> float | None:
    """Return the ceiling of a language and the reference, None if there is none."""
    return values.get(f"{language}-{audit.reference}", values.get(f"{audit.reference}-{language}"))


def format_share(part: int, total: int) -> str:
    """Return a share in per cent, `–` if `total` is 0."""
    return f"{100 * part / total:.1f}%" if total else "–"


def totals(audit: Audit) -> list[str]:
    """Return the figures of the whole dataset, one line for each."""
    counts, parallel = audit.languages.values(), "rows_not_parallel_to_en"
    text = Template(files(__package__).joinpath("totals.txt").read_text(encoding="utf-8")).render(
        audit=audit,
        baseline=audit.baselines[""],
        clean=[check.heading for code, check in CHECKS.items() if not has_rows(code, audit)],
        strict=max(x[f"{parallel}_strict"] - x[parallel] for x in counts),
        unjudged=sum(x["candidates_not_judged"] for x in counts),
        symmetric=[f"{name} {count}" for name, count in audit.symmetric.items() if count],
        share=format_share,
        decimals=format_value,
    )
    return list(filter(None, text.splitlines()))
