"""The types of errors in the terminal."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from polyprobe.analysis.errors.types import RULES


def errors_table(found: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return a row for each language: number of errors, percent of each type, its interval below.

    `found` is `error_types` of results.json. A language without errors has dashes.
    """
    table = Table(header_style="bold", highlight=False, box=None, pad_edge=False)
    table.add_column("language", no_wrap=True)
    for head in ("errors", *RULES):
        table.add_column(head.replace("_", "\n", 1), justify="right", no_wrap=True)
    for language, shares in found.items():
        cells = [_show(shares[name], shares.get(f"{name}_ci")) for name in RULES]
        table.add_row(Text(language), f"{shares['n_queries']:,}", *cells)
    return table


def _show(share: float | None, bounds: list[float] | None) -> str:
    shown = "–" if share is None else f"{100 * share:.1f}"
    return f"{shown}\n{100 * bounds[0]:.0f}–{100 * bounds[1]:.0f}" if bounds else shown
