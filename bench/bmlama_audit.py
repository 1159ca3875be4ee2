"""Audit BMLAMA, as published and repaired, for its card.

Run `python -m bench bmlama_audit [MIRROR]`; MIRROR is a folder with the upstream archives (default:
download). It writes builder/recipes/bmlama/audit.csv, one line for each configuration and language,
the source of the card's figures. tests/builder/test_repaired.py repeats the audit.
"""

import csv
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from polyprobe.builder.audit import Audit, audit_tables
from polyprobe.builder.build import build_dataset
from polyprobe.builder.recipes import list_recipe_configs
from polyprobe.builder.recipes.bmlama import AUDIT
from polyprobe.schema.languages import order_pair


class AuditLine(NamedTuple):
    """The audit of one language of a configuration; ceilings are against English.

    The accuracies without a model (`audit.baseline`) are those in English.
    """

    config: str
    language: str
    rows: int
    rows_parallel_in_all: int
    rows_not_parallel_to_en: int
    rows_with_second_answer: int
    rows_with_duplicate_labels: int
    rows_with_invisible_characters: int
    rows_with_mixed_alphabets: int
    answer_position_p_value: float
    accuracy_chance: float
    accuracy_frequency: float
    accuracy_frequency_without_p530: float
    ceiling_random: float
    ceiling_answer_first: float


def main(argv: Sequence[str] = ()) -> None:
    """Build all configurations in a temporary folder, audit them, write the file."""
    configs = list_recipe_configs("bmlama")
    mirror = Path(argv[0]) if argv else None
    with tempfile.TemporaryDirectory() as folder:
        dataset = build_dataset("bmlama", configs, mirror, Path(folder) / "bmlama")
        lines = [line for config in configs for line in audit(dataset, config)]
    with AUDIT.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(AuditLine._fields)
        writer.writerows(lines)


def audit(dataset: Path, config: str) -> list[AuditLine]:
    """Return the lines of one configuration."""
    paths = sorted((dataset / "data" / config).glob("*.parquet"))
    tables = {path.stem: pq.read_table(path) for path in paths}
    return summarize_audit(config, audit_tables(tables, f"bmlama/{config}"))


def summarize_audit(config: str, audit: Audit) -> list[AuditLine]:
    """Return the lines of an audit; ceilings are estimates, rounded to four decimals."""
    total = audit.baselines[""]
    relations = [baseline for name, baseline in audit.baselines.items() if name not in ("", "P530")]
    right = sum(baseline.rows * (baseline.frequency or 0) for baseline in relations)
    return [
        AuditLine(
            config,
            language,
            audit.rows,
            audit.rows_parallel_in_all,
            *(counts[x] for x in AuditLine._fields[4:9]),
            answer_position_p_value=float(f"{counts['answer_position_p_value'] or 0:.3g}"),
            accuracy_chance=round(total.chance or 0, 6),
            accuracy_frequency=round(total.frequency or 0, 6),
            accuracy_frequency_without_p530=round(
                right / sum(baseline.rows for baseline in relations), 6
            ),
            ceiling_random=round_ceiling(audit.ceiling.random, audit, language),
            ceiling_answer_first=round_ceiling(audit.ceiling.answer_first, audit, language),
        )
        for language, counts in audit.languages.items()
    ]


def round_ceiling(values: Mapping[str, float], audit: Audit, language: str) -> float:
    """Return the ceiling of a language and the reference with four decimals; 1 without one."""
    ceiling = values.get(order_pair(values, language, audit.reference))
    return 1.0 if ceiling is None else round(ceiling, 4)
