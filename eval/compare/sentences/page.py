"""Write the comparison of a template run and its sentence version as one HTML file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polyprobe.eval.report.template import HERE as REPORT
from polyprobe.eval.report.template import write_page
from polyprobe.eval.results.table import interval, number, p_value
from polyprobe.metrics.joint.significance import Paired

from .compare import VersionComparison, Versions
from .table import DIRECTION, SIDES, as_json, list_figures, list_notes

HERE = Path(__file__).parent
OPENED = ("recall@1", "mean_rank")  # tables that are open at first
TERMS = {
    "recall@k": "share of facts with a correct answer among the k best-scored candidates; ties "
    "count with their probability.",
    "mean rank": "rank of the best-scored correct answer, from 1; lower is better.",
    "macro, micro": "mean over relations (Fluent-mLAMA), and mean over facts.",
    "inflection delta": "rank of the answer's label less the rank of its inflected form.",
    "feminine verb forms": "their share of the verb forms with a gender, for female subjects.",
    "QE": "COMET’s estimate of how well the text translates the English sentence.",
}


def write_versions(
    versions: Versions, found: VersionComparison, options: Mapping[str, Any], output: Path
) -> None:
    """Write the effect of sentences as one file that opens without a network.

    Raises:
        PolyprobeError: plotly is not installed, or the file cannot be written.
    """
    settings = versions.sentence.settings()
    values = as_json(found)
    curves = [figure["macro"] for name, figure in values["ranks"].items() if "@" in name]
    write_page(
        output,
        HERE / "sentences.html",
        [REPORT / "plot.js", HERE / "page.js"],
        title=f"polyprobe: {settings.model_name} on {settings.data_name}",
        data={"languages": found.languages, "curves": curves, "boxes": values["boxes"]},
        found=found,
        mean=found.ranks["recall@1"]["macro"][-1],
        terms=TERMS.items(),
        signatures=[(side, getattr(versions, side).settings().signature) for side in SIDES],
        sides=SIDES,
        boxes=[
            [language, side, *(f"{value:.2f}" for value in box)]
            for language, boxes in found.boxes.items()
            for side, box in zip(SIDES, boxes, strict=True)
        ],
        direction=DIRECTION,
        options=options,
        figures={
            name: {average: map(_cells, rows) for average, rows in averages.items()}
            for name, averages in list_figures(found).items()
        },
        opened=OPENED,
        notes=list_notes(found),
    )


def _cells(row: Paired) -> list[str]:
    pairs = ((row.first, row.first_ci), (row.second, row.second_ci), (row.difference, row.ci))
    cells = (cell for value, bounds in pairs for cell in (number(value), interval(bounds)))
    return [row.name, *cells, p_value(row.p_adjusted)]
