"""Write the groups of a run as one HTML file that opens without a network."""

from pathlib import Path
from typing import Any

from polyprobe.report.finding import Finding, Table
from polyprobe.report.page.page import write_page
from polyprobe.report.show import format_table


def write_groups(finding: Finding, output: Path) -> None:
    """Write the page of the groups of a run.

    Raises:
        PolyprobeError: the file cannot be written, or has another ending than .html.
    """
    parts: list[dict[str, Any]] = [
        {
            "title": part.title,
            "id": f"groups-{part.pictures[0]}",
            "lines": [block for block in part.blocks if isinstance(block, str)],
            "tables": [format_table(block) for block in part.blocks if isinstance(block, Table)],
        }
        for part in finding.parts
    ]
    drawn = {}
    for part in finding.parts:
        bars: Any = finding.pictures[part.pictures[0]]
        [series] = bars.series
        rows = zip(bars.labels, series.values, series.bounds, strict=True)
        drawn[f"groups-{part.pictures[0]}"] = [[*row] for row in rows]
    write_page(
        output,
        "groups",
        title=f"polyprobe: {finding.title}",
        data=drawn,
        parts=parts,
        finding=finding,
    )
