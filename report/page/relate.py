"""The page of `polyprobe relate`: correlations, scatter plots, heat maps in one order."""

from pathlib import Path
from typing import Any

from polyprobe.analysis.relate.outcome import (
    HEADS,
    Outcome,
    Related,
    line_of,
    list_cells,
    list_notes,
    title_of,
)
from polyprobe.analysis.relate.pairs import flatten
from polyprobe.metrics.shared.rows import name_pairs
from polyprobe.report.page.page import round_drawn, write_page
from polyprobe.report.pictures import ORDERS
from polyprobe.report.pictures.order import order_languages
from polyprobe.schema.languages import show_language


def write_relations(found: Outcome, output: Path) -> None:
    """Write the correlations of a run's pairs as one HTML file.

    Raises:
        PolyprobeError: the file cannot be written, or is not named like a page.
    """
    pairs = found.pairs
    languages, values = pairs.languages, flatten(pairs.values, range(len(pairs.languages)))
    known = dict(zip(name_pairs(languages), map(round_drawn, values), strict=True))
    write_page(
        output,
        "relate",
        title=f"polyprobe: what correlates with {pairs.of.title} of {found.name} on "
        f"{pairs.run.settings().data_name}",
        data={
            "languages": languages,
            "names": [show_language(x) for x in languages],
            "orders": {order: order_languages(languages, order, known) for order in ORDERS},
            "of": pairs.of.title,
            "values": [*map(round_drawn, values)],
            "similarities": [_select(row) for row in found.rows],
        },
        head=[*HEADS],
        rows=[*list_cells(found)],
        notes=[*list_notes(found)],
        names=[row.similarity.name for row in found.rows],
        orders=ORDERS,
        of=pairs.of.title,
        n_languages=len(languages),
    )


def _select(row: Related) -> dict[str, Any]:
    """Return what the page's script draws of a similarity."""
    values = row.similarity.values
    return {
        "name": row.similarity.name,
        "says": row.similarity.says,
        "title": title_of(row),
        "line": line_of(row),
        "places": row.places,
        "values": [*map(round_drawn, flatten(values, range(len(values))))],
    }
