"""`polyprobe eval`, `import`, `demo`, `metrics` and `report`: score a model, show its results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyprobe.analysis.figures.options import MetricOptions
from polyprobe.analysis.options import BootstrapOptions, RowOptions
from polyprobe.eval.options import EvaluationOptions, EvaluationRequest, ImportOptions, JudgeOptions
from polyprobe.schema.languages import split_list
from polyprobe.schema.locate import check_dataset_name
from polyprobe.scoring.embedded import TRAINED
from polyprobe.system.messages import Console, PolyprobeError, explain_missing_extras, report
from polyprobe.system.options import option

from .options import Dataset, MapOptions, PageOptions, say, take_options

if TYPE_CHECKING:
    from polyprobe.report.finding import Part
    from polyprobe.schema.run.folder import FinishedRun

Config = Annotated[
    str | None, typer.Option(help="Configuration of the dataset (default: the dataset's own).")
]
RunFolder = Annotated[Path, typer.Option(help="Run folder.")]
OTHERS = ("el", "hy", "ka", "ko", "ta", "th")
GROUPS = (  # of pairs, by the number of languages in the training data
    "between other languages",
    "between a trained and another language",
    "between trained languages",
)


@take_options(EvaluationOptions)
def evaluate(
    model: Annotated[
        str,
        typer.Argument(help="Hub id, folder (also of a PEFT adapter), GGUF file, or geolm."),
    ],
    dataset: Dataset,
    output: Annotated[Path, typer.Option(help="Run folder; repeat the command to resume.")],
    config: Config = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only count the queries, prompts and tokens to score.")
    ] = False,
    *,
    options: EvaluationOptions,
) -> None:
    """Evaluate a model on a dataset; write scores, results.json and report.html."""
    request = EvaluationRequest.of(model, dataset, config, options)
    with explain_missing_extras("evaluating"):  # imports torch
        from polyprobe.eval.evaluate import evaluate_request, forecast_work
    if dry_run:
        report(forecast_work(request, output))
    else:
        show_run(evaluate_request(request, output))


def _make_import(group: type[ImportOptions], help_of_files: str, text: str) -> Any:
    """Make a command that makes a run of what was computed elsewhere."""

    @take_options(group)
    def command(
        files: Annotated[list[str], typer.Argument(help=help_of_files)],
        dataset: Dataset,
        output: RunFolder,
        config: Config = None,
        *,
        options: ImportOptions,
    ) -> None:
        check_dataset_name(dataset)
        # these imports take a second; mistakes of the user are refused before
        from polyprobe.eval.imports import import_run

        show_run(import_run(files, dataset, config, output, options))

    command.__doc__ = text
    return command


import_ = _make_import(
    ImportOptions,
    "CSV, TSV, JSON, JSON lines or Parquet: tables, samples of lm-eval, details of lighteval (with "
    "their results), scores of a run.",
    "Make a run of scores or choices that were computed elsewhere.",
)
judge = _make_import(
    JudgeOptions,
    "CSV, TSV, JSON, JSON lines or Parquet with free answers: tables, samples of lm-eval, details "
    "of lighteval.",
    "Make a run of free answers that were written elsewhere, by the names in them.",
)


def demo(
    output: RunFolder = Path("demo-run"),
    every: Annotated[bool, typer.Option("--all", help="All 51 languages.")] = False,
) -> None:
    """Evaluate the embedded model in six languages of its training data and six others."""
    with explain_missing_extras("evaluating"):
        from polyprobe.analysis.figures.results import mean_known
        from polyprobe.eval.evaluate import evaluate_request
        from polyprobe.report.show import format_value

    show = Console().print
    show("geolm is a small model trained on the facts of geofacts in " + " ".join(TRAINED) + ".")
    show("It should be consistent between these languages, and guess in all others.")
    options = EvaluationOptions(languages=None if every else [*TRAINED, *OTHERS])
    run = evaluate_request(EvaluationRequest("geolm", "geofacts", None, options), output)
    show_run(run)
    show("\ncentred RankC (0: a language does not react to the subject, 1: both react alike):")
    groups: dict[str, list[float | None]] = {group: [] for group in reversed(GROUPS)}
    for pair, value in run.results["rankc_subject"].items():
        groups[GROUPS[sum(language in TRAINED for language in pair.split("-"))]].append(value)
    for group, values in groups.items():
        show(f"  {group}: {format_value(mean_known(values))}")
    show("\nTo evaluate your own model:")
    show("  polyprobe eval OWNER/MODEL --dataset geofacts --output my-run")


@dataclass(frozen=True)
class MetricsOptions(MetricOptions, BootstrapOptions):
    """All options of the command."""

    by_relation: bool = option(False, "Also print the figures of each relation.")
    pairs: str | None = option(
        None,
        "Two figures of pairs, such as rankc,coverlap: also print the pairs at or above the mean "
        "of all pairs by both figures or by one, and each language's best partner.",
    )

    def check(self) -> None:
        """Refuse another number of figures than two for pairs."""
        super().check()
        if self.pairs is not None and len(split_list(self.pairs)) != 2:
            text = f"--pairs {self.pairs}: expected two figures, such as rankc,coverlap"
            raise PolyprobeError(text)

    def list_parts(self, results: dict[str, Any], folder: Path) -> "Iterator[Part]":
        """Yield the parts of the finding of a run that were asked for."""
        from polyprobe.report.finding import Part
        from polyprobe.report.findings import run

        if self.by_relation:
            yield Part("Relations", [run.make_relations_table(results)])
        if self.by_template:
            yield run.make_templates_part(results)
        if self.popularity:
            yield Part("Popularity", [run.make_popularity_table(results)])
        names = split_list(self.pairs)
        for name in names:
            if not results.get(name):
                raise PolyprobeError(f"--pairs: {folder} has no {name}; choose another figure")
        if names:
            yield run.make_pairs_part(results, names)


@take_options(MetricsOptions)
def metrics(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")], options: MetricsOptions
) -> None:
    """Recompute results.json and the report from the scores, without the model."""
    # these imports take a second; mistakes of the user are refused before
    from polyprobe.analysis.figures.compute import compute_results
    from polyprobe.analysis.figures.figures import choose_figures
    from polyprobe.analysis.figures.results import check_pair_figures
    from polyprobe.schema.run.folder import FinishedRun, Run

    if options.pairs:
        check_pair_figures(split_list(options.pairs), choose_figures(options.figures or ()))
    for run in map(Run, runs):
        if options.pairs and run.settings().kind == "predictions":
            text = f"{run.folder} holds free predictions, which have no candidates; omit --pairs"
            raise PolyprobeError(text)
        results = compute_results(run, options, options.choice, options)
        show_run(FinishedRun(run, results), [*options.list_parts(results, run.folder)])


@dataclass(frozen=True)
class ReportOptions(MapOptions, PageOptions, RowOptions):
    """All options of the report."""

    def check(self) -> None:
        """Refuse a report without a file."""
        super().check()
        if not (self.page or self.figure):
            raise PolyprobeError(
                "nothing to write; give --output FILE.html for the report, or --figure FILE for a "
                "picture"
            )


@take_options(ReportOptions)
def report_runs(
    runs: Annotated[list[Path], typer.Argument(help="Run folders; several are compared.")],
    options: ReportOptions,
) -> None:
    """Write the report of one or several runs as one HTML file, or save one of its pictures."""
    # these imports take a second; mistakes of the user are refused before
    from polyprobe.report.page import write_report

    pictures = write_report(runs, options.page, options.choice)
    if options.page:
        say(f"report: {options.page}")
    options.save(pictures)


def show_run(finished: "FinishedRun", parts: "Sequence[Part]" = ()) -> None:
    """Print parts and a run's table, and write its report; remove an older report if that fails."""
    from polyprobe.report.findings.run import make_run_finding
    from polyprobe.report.page import write_pages
    from polyprobe.report.show import render

    console = Console()
    for block in render(make_run_finding(finished.results, parts), console.width):
        console.print(block)  # lines are wrapped
    file = finished.run.folder / "report.html"
    try:
        write_pages([finished], file)
    except PolyprobeError as error:
        file.unlink(missing_ok=True)  # of other figures
        say(f"no report: {error}")
    else:
        say(f"report: {file}")
