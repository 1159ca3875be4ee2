"""Counts of a dataset's defects, as JSON and as a finding; `audit_tables` accepts any tables."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jinja2 import Template

from polyprobe import __version__
from polyprobe.builder.facts.truths import SYMMETRIC
from polyprobe.metrics.pictures.picture import Heat
from polyprobe.report.finding import Column, Drawing, Finding, Part, Role, Table
from polyprobe.report.show import format_value
from polyprobe.schema.languages import order_pair
from polyprobe.system.files import read_toml
from polyprobe.system.options import check_arguments

from .checks import CHECKS, Split, compare_labels, count_positions, find_ids, make_splits
from .limits import SEED, Baseline, Ceiling, Judged, compute_ceiling, find_baselines, judge_language

DEFINITIONS = read_toml(__package__, "definitions.toml")


class Audit(NamedTuple):
    """The defects of a dataset."""

    signature: str  # of the data, the reference, the draws, and the version
    reference: str
    rows: int
    rows_parallel_in_all: int
    rows_with_ids: int
    symmetric: dict[str, int]  # rows by symmetric relation
    languages: dict[str, dict[str, Any]]  # of `audit_language`
    ceiling: Ceiling
    baselines: dict[str, Baseline]  # of the reference's rows, by relation, of all rows under ""
    parts: Mapping[str, dict[str, Any]] = {}  # of LANG-train, LANG-valid, … (`count_parts`)


@check_arguments
def audit_tables(tables: Mapping[str, pa.Table], name: str) -> Audit:
    """Return the audit of {language: table}; row i is the same query in all languages."""
    splits = make_splits(tables, name)
    # English, or the first language if there is no English.
    reference = "en" if "en" in splits else next(iter(splits))
    with_ids = find_ids(splits)
    first = splits[reference]
    judged = {x: judge_language(first, split, with_ids) for x, split in splits.items()}
    differ = np.any([language.not_parallel for language in judged.values()], axis=0)
    ceiling = compute_ceiling(splits, judged)
    digest = hashlib.sha256()  # of all data that the audit reads
    for split in splits.values():
        digest.update(json.dumps(split, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    return Audit(
        signature=(
            f"data:{name}@{digest.hexdigest()[:12]}|languages:{len(splits)}|reference:{reference}|"
            f"draws:{ceiling.draws}|seed:{SEED}|polyprobe:{__version__}"
        ),
        reference=reference,
        rows=len(differ),
        rows_parallel_in_all=int((~differ).sum()),
        rows_with_ids=sum(with_ids),
        symmetric={name: first.relation.count(name) for name in SYMMETRIC},
        languages={x: audit_language(split, first, judged[x]) for x, split in splits.items()},
        ceiling=ceiling,
        baselines=find_baselines(first, all(with_ids)),
    )


def audit_language(split: Split, reference: Split, judged: Judged) -> dict[str, Any]:
    """Return the counts of one language, by their keys in JSON: `to_en` means the reference."""
    from scipy.stats import chisquare  # here: a build imports this room, and SciPy takes 0.4 s

    positions, expected, last = count_positions(split)
    p_value = float(chisquare(positions, expected).pvalue) if sum(positions) else None
    identical = compare_labels(split, reference, judged.not_parallel.tolist())
    return {
        # Rows whose candidates differ from the reference's. For a homonym, any observed translation
        # is the same entity; if strict, none is.
        "rows_not_parallel_to_en": int(judged.not_parallel.sum()),
        "rows_not_parallel_to_en_strict": int(judged.not_parallel_strict.sum()),
        "candidates_not_judged": judged.not_judged,  # they cannot be compared
        **{code: sum(check.find(split, reference)) for code, check in CHECKS.items()},
        # Answers at each index, in rows of at least two candidates, those of a fact's templates
        # once; and as many as random positions would give.
        "answer_positions": positions,
        "answer_positions_expected": expected,
        "answers_last": last,  # such rows whose last candidate is an answer
        # Of Pearson's chi-square test of the positions, None without answers. It is rough if fewer
        # than five answers are expected at a position.
        "answer_position_p_value": p_value,
        "labels_identical_to_en": identical[True],  # distinct pairs of equal labels
        "labels_compared": identical.total(),
    }


def to_json(audit: Audit) -> dict[str, Any]:
    """Return the audit as JSON; counts are numbers of rows unless their keys say otherwise."""
    values = audit._asdict()
    symmetric = values.pop("symmetric")
    baselines = {name: x._asdict() for name, x in values.pop("baselines").items()}
    return {
        **values,
        "homonyms": "any observed translation counts; strict: a label with several never does",
        "rows_of_symmetric_relations": symmetric,
        "share_of_symmetric_relations": sum(symmetric.values()) / audit.rows,
        "ceiling": audit.ceiling._asdict(),
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
    pictures = []
    languages, ceiling = list(audit.languages), audit.ceiling
    for name, values in (("random", ceiling.random), ("answer first", ceiling.answer_first)):
        if values:
            cells = np.full((len(languages), len(languages)), np.nan)
            cells[np.triu_indices(len(languages), 1)] = [*values.values()]
            title, cells = f"ceiling of RankC, {name}", np.fmax(cells, cells.T)
            heat = Heat(title, languages, languages, cells, "RankC", high=1.0)
            pictures.append(Drawing(name, heat, {"ceiling": name}))
    return Finding(
        f"audit of {audit.signature.split('|')[0].removeprefix('data:')}",
        [Part("Counts and ceilings", [Table(columns, lines, dense=True)], pictures)],
        notes=[*totals(audit), audit.signature, *meanings],
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
        pair = (x.get(order_pair(x, language, audit.reference)) for x in ceilings)
        p_value = counts["answer_position_p_value"]
        rows = (str(counts[code]) for code in ("rows_not_parallel_to_en", *codes))
        positions = format_share(counts["answers_last"], sum(counts["answer_positions"]))
        identical = format_share(counts["labels_identical_to_en"], counts["labels_compared"])
        chi_squared = "–" if p_value is None else f"{p_value:.2g}"
        cells = [language, *rows, positions, chi_squared, identical]
        yield [*cells, *map(format_value, pair)]


def has_rows(code: str, audit: Audit) -> bool:
    """Return whether a check found a row in some language."""
    return any(counts[code] for counts in audit.languages.values())


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
