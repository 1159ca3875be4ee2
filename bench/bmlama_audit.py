"""Audit BMLAMA, as published and repaired, for its card.

Run `python -m bench bmlama_audit [MIRROR]`; MIRROR is a folder with the upstream archives (default:
download). It writes builder/recipes/bmlama/audit.csv, one line for each configuration and language,
the source of the card's figures. tests/builder/test_repaired.py repeats the audit.
"""

import csv
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq

from polyprobe.builder.audit import audit_tables
from polyprobe.builder.build import build_dataset
from polyprobe.builder.recipes.bmlama.build import CONFIGS
from polyprobe.builder.recipes.bmlama.card import AUDIT, AuditLine, summarize_audit


def main(argv: Sequence[str] = ()) -> None:
    """Build all configurations in a temporary folder, audit them, write the file."""
    mirror = Path(argv[0]) if argv else None
    with tempfile.TemporaryDirectory() as folder:
        dataset = build_dataset("bmlama", CONFIGS, mirror, Path(folder) / "bmlama")
        lines = [line for config in CONFIGS for line in audit(dataset, config)]
    with AUDIT.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(AuditLine._fields)
        writer.writerows(lines)


def audit(dataset: Path, config: str) -> list[AuditLine]:
    """Return the lines of one configuration."""
    paths = sorted((dataset / "data" / config).glob("*.parquet"))
    tables = {path.stem: pq.read_table(path) for path in paths}
    return summarize_audit(config, audit_tables(tables, f"bmlama/{config}"))
