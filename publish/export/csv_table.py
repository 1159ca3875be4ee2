"""All figures of a run as one long table that pandas, R and spreadsheets read as it is."""

import csv
import io
from pathlib import Path

from .exported import Exported, write_export
from .rows import Row


def write_csv(exported: Exported, output: Path | None) -> Path:
    """Write `results.csv`: a row a figure and language or pair, with the columns of `Row`.

    Numbers are written in full, so that reading gives the same floats. What is undefined or
    unknown is empty. The last column is the run's signature, the same in every row: tables of
    several runs can be put under each other.
    """
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([*Row._fields, "signature"])
    table.writerows([*row, exported.signature] for row in exported.rows)
    return write_export(output or exported.folder / "results.csv", text.getvalue())
