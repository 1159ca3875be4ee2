"""All figures of a run as one long CSV table, for pandas, R and spreadsheets."""

import csv
import io
from pathlib import Path

from .exported import Exported, write_export
from .rows import Row


def write_csv(exported: Exported, output: Path | None) -> Path:
    """Write `results.csv`: one row for each figure and language or pair, columns as in `Row`.

    Numbers have all digits, so that reading gives the same floats. Undefined and unknown values are
    empty. The last column is the run's signature, so that tables of several runs can be
    concatenated.
    """
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([*Row._fields, "signature"])
    table.writerows([*row, exported.signature] for row in exported.rows)
    return write_export(output or exported.folder / "results.csv", text.getvalue())
