"""What every command that ends in figures shows: the table, and where the report is."""

from pathlib import Path

from rich.console import Console

from polyprobe.system.errors import PolyprobeError


def show_run(folder: Path) -> None:
    """Print a run's table and write its report; without plotly say so and go on."""
    from polyprobe.eval.report import write_report
    from polyprobe.eval.results.table import results_table
    from polyprobe.eval.run.folder import Run

    console = Console()
    console.print(results_table(Run(folder).read_json("results.json")))
    report = folder / "report.html"
    try:
        write_report([folder], report)
    except PolyprobeError as error:
        console.print(f"no report: {error}", markup=False, soft_wrap=True)
    else:
        console.print(f"report: {report}", markup=False, soft_wrap=True)
