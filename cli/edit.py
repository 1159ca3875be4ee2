"""`polyprobe edit`: edit facts in one language, measure them in all."""

from pathlib import Path
from typing import Annotated

import typer

from polyprobe.schema.locate import check_dataset_name
from polyprobe.system.messages import Console, explain_missing_extras
from polyprobe.training.options import EditOptions

from .options import Dataset, say, take_options
from .runs import Config


@take_options(EditOptions)
def edit(
    model: Annotated[str, typer.Argument(help="Causal: Hub id, folder, GGUF file, or geolm.")],
    dataset: Dataset,
    output: Annotated[Path, typer.Option(help="Folder; repeat the command to resume.")],
    config: Config = None,
    *,
    options: EditOptions,
) -> None:
    """Edit facts one at a time in one language (ROME), and measure where the edits arrive."""
    check_dataset_name(dataset)
    with explain_missing_extras("editing"):  # imports torch
        from polyprobe.training.edits import edit_facts
    from polyprobe.analysis.edits import summarize_edits
    from polyprobe.report.findings.edits import make_edits_finding
    from polyprobe.report.page.page import write_finding
    from polyprobe.report.show import render

    edits = edit_facts(model, dataset, config, output, options)
    finding = make_edits_finding(edits, summarize_edits(edits))
    say(*render(finding, Console().width))
    write_finding(finding, output / "edits.html")
    say(f"report: {output / 'edits.html'}")
