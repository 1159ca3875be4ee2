"""`polyprobe compare`: test whether two runs differ on the same facts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from polyprobe.analysis.compare.options import ComparisonOptions
from polyprobe.system.errors import PolyprobeError

from .options import MapOutputs, take_options


@dataclass(frozen=True)
class CompareOptions(MapOutputs, ComparisonOptions):
    """All options of the command."""


@take_options(CompareOptions)
def compare(
    run_a: Annotated[Path, typer.Argument(help="Run folder.")],
    run_b: Annotated[Path, typer.Argument(help="Another run folder, of the same dataset.")],
    wordings: Annotated[
        list[Path] | None,
        typer.Argument(help="Run folders of further wordings of the same configuration."),
    ] = None,
    **keywords: Any,
) -> None:
    """Test whether two runs differ: accuracy by language, RankC and other figures by pair.

    For runs on two wordings of a configuration (CONFIG, CONFIG-sentence, CONFIG-chatgpt), in any
    order, it also measures the effect of wording: recall@k, mean rank, inflection, texts. Three
    wordings are shown side by side, with differences from the first of these.
    """
    options = CompareOptions(**keywords)
    if wordings and (options.page or options.figure):
        raise PolyprobeError(
            f"{'--output' if options.page else '--figure'} shows two runs; compare the wordings "
            "two at a time for pages and pictures"
        )
    # these imports take a second; mistakes of the user are refused before
    from polyprobe.analysis.compare.folders import PairOutcome, compare_folders
    from polyprobe.report.findings.comparison import make_comparison_finding
    from polyprobe.report.page import write_comparison
    from polyprobe.schema.run.folder import Run

    runs = [Run(folder) for folder in (run_a, run_b, *(wordings or ()))]
    outcome = compare_folders(runs, options)

    def write(page: Path | None) -> Any:
        assert isinstance(outcome, PairOutcome)
        return write_comparison((runs[0], runs[1]), outcome, page, options.choice)

    finding = make_comparison_finding(outcome)
    if options.figure:
        finding = finding._replace(pictures=write(None))
    options.write(finding, outcome.as_json, lambda _, page: write(page))
    if (options.gender or options.comet_python) and outcome.failures:
        raise typer.Exit(1)
