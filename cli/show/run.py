"""Print the table of a finished run and write its report."""

from typing import TYPE_CHECKING

from rich.console import Console

from polyprobe.system.errors import PolyprobeError

if TYPE_CHECKING:
    from polyprobe.eval.run.folder import FinishedRun


def show_run(finished: "FinishedRun") -> None:
    """Print a run's table and write its report; print a note if that fails, as without plotly."""
    from polyprobe.eval.report import write_pages
    from polyprobe.eval.results.table import results_table

    console = Console()
    console.print(results_table(finished.results))
    report = finished.run.folder / "report.html"
    try:
        write_pages([finished], report)
    except PolyprobeError as error:
        console.print(f"no report: {error}", markup=False, soft_wrap=True)
    else:
        console.print(f"report: {report}", markup=False, soft_wrap=True)
