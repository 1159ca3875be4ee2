"""The page of `polyprobe relate`: correlations, scatter plots, heat maps in one order."""

from pathlib import Path
from typing import Any

from polyprobe.analysis.relate.pairs import flatten
from polyprobe.analysis.relate.relate import Correlations, Related
from polyprobe.metrics.shared.rows import name_pairs
from polyprobe.report.findings.relate import (
    describe_correlation,
    find_line,
    make_relate_finding,
)
from polyprobe.report.page.page import round_drawn, write_page
from polyprobe.report.pictures import ORDERS
from polyprobe.report.pictures.order import order_languages
from polyprobe.report.show import format_table
from polyprobe.schema.languages import show_language


def write_relations(correlations: Correlations, output: Path) -> None:
    """Write the correlations of a run's pairs as one HTML file.

    Raises:
        PolyprobeError: the file cannot be written, or is not named like a page.
    """
    finding, pairs = make_relate_finding(correlations), correlations.pairs
    languages = pairs.languages
    values = [*map(round_drawn, flatten(pairs.values, range(len(languages))))]
    of_pairs = dict(zip(name_pairs(languages), values, strict=True))
    head, rows = format_table(finding.tables[0])
    write_page(
        output,
        "relate",
        title=f"polyprobe: {finding.title}",
        data={
            "languages": languages,
            "names": [show_language(x) for x in languages],
            "orders": {order: order_languages(languages, order, of_pairs) for order in ORDERS},
            "of": pairs.of.title,
            "values": values,
            "similarities": [_select(row) for row in correlations.rows],
        },
        head=head,
        rows=rows,
        notes=finding.notes,
        names=[row.similarity.name for row in correlations.rows],
        orders=ORDERS,
        of=pairs.of.title,
        n_languages=len(languages),
    )


def _select(row: Related) -> dict[str, Any]:
    """Select what the page's script draws of a similarity."""
    values = row.similarity.values
    return {
        "name": row.similarity.name,
        "says": row.similarity.description,
        "title": describe_correlation(row),
        "line": find_line(row),
        "places": row.places,
        "values": [*map(round_drawn, flatten(values, range(len(values))))],
    }
