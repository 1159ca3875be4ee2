"""`polyprobe metrics` and `report`: show the results of runs."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from polyprobe.analysis.figures import REPEATED_SUBJECTS, TEMPLATES
from polyprobe.system.errors import PolyprobeError

from .options import (
    Cluster,
    DrawnName,
    Exclude,
    FigureFile,
    LanguageNames,
    Order,
    PageFile,
    Relations,
    Resamples,
    Seed,
    one_of,
    parse_choice,
    save_chosen,
    say,
    split_list,
)
from .outputs import MapOutputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyprobe.report.finding import Part
    from polyprobe.schema.run.folder import FinishedRun

XfactrOption = partial(typer.Option, rich_help_panel="Free decoding (--scoring xfactr)")
FigureOption = partial(typer.Option, rich_help_panel="Figures")


def metrics(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    resamples: Resamples = None,
    seed: Seed = 0,
    cluster: Cluster = "auto",
    relations: Relations = None,
    exclude: Exclude = None,
    by_relation: Annotated[
        bool, typer.Option("--by-relation", help="Also print the figures of each relation.")
    ] = False,
    by_template: Annotated[
        bool,
        typer.Option(
            "--by-template",
            help="Also report the accuracy of each template, and the shares of the inconsistency "
            "due to languages and to templates.",
        ),
    ] = False,
    pairs: Annotated[
        str | None,
        typer.Option(
            help="Two figures of pairs, such as rankc,coverlap: also print the pairs at or above "
            "the mean of all pairs by both figures or by one, and each language's best partner."
        ),
    ] = None,
    average: Annotated[
        str,
        FigureOption(
            help="Average in metric modules: macro (over relations) or micro (over rows)."
        ),
    ] = "macro",
    weights: Annotated[
        str,
        FigureOption(
            help="Weights of the ranks in RankC: softmax, norm1, norm2 (the paper's), "
            "norm1-released, norm2-released (the authors' program)."
        ),
    ] = "softmax",
    ties: Annotated[
        str,
        FigureOption(
            help="Equal scores: expected (over all orders) or released (the earlier candidate "
            "first, as in the authors' programs)."
        ),
    ] = "expected",
    popularity: Annotated[
        bool,
        FigureOption(
            "--popularity",
            help="Also report the accuracy of each fifth of the facts, by the dataset's column "
            "popularity.",
        ),
    ] = False,
    repeated_subjects: Annotated[
        str,
        FigureOption(
            callback=one_of(REPEATED_SUBJECTS),
            help="Exclude subjects with several objects from consistency: by id, by label up to "
            "the first hyphen (released code of mParaRel), or none (keep).",
        ),
    ] = "id",
    templates: Annotated[
        str,
        FigureOption(
            callback=one_of(TEMPLATES),
            help="Templates that consistency counts: all or reviewed.",
        ),
    ] = "all",
    figures: Annotated[
        str | None,
        FigureOption(
            help="Figures to report, comma-separated: names of figures or modules, or default "
            "(the figures of every run)."
        ),
    ] = None,
    length_norm: Annotated[
        bool | None,
        XfactrOption(
            "--length-norm/--no-length-norm",
            help="Compare numbers of masks by the mean or by the sum of the log-probabilities.",
            show_default="as in the run",
        ),
    ] = None,
    max_masks: Annotated[
        int | None,
        XfactrOption(min=1, help="Maximum number of masks.", show_default="as in the run"),
    ] = None,
) -> None:
    """Recompute results.json and the report from the scores, without the model."""
    from polyprobe.analysis.figures.options import Bootstrap, MetricOptions

    options = MetricOptions.of(
        average=average,
        weights=weights,
        ties=ties,
        figures=tuple(split_list(figures)),
        popularity=popularity,
        by_template=by_template,
        length_norm=length_norm,
        max_masks=max_masks,
        repeated_subjects=repeated_subjects,
        templates=templates,
    )
    named = split_list(pairs)
    if pairs is not None and len(named) != 2:
        raise PolyprobeError(f"--pairs {pairs}: expected two figures, such as rankc,coverlap")
    from polyprobe.analysis.figures.compute import compute_results
    from polyprobe.analysis.figures.figures import choose_figures
    from polyprobe.analysis.figures.further.pairs import check_pair_figures
    from polyprobe.report.finding import Part
    from polyprobe.report.findings.run import (
        make_pairs_part,
        make_popularity_table,
        make_relations_table,
        make_templates_part,
    )
    from polyprobe.schema.run.folder import FinishedRun, Run

    bootstrap, choice = Bootstrap(resamples, seed, cluster), parse_choice(relations, exclude)
    check_pair_figures(named, choose_figures(options.ranking.figures))
    for folder in runs:
        run = Run(folder)
        if named and run.settings().kind == "predictions":
            raise PolyprobeError(
                f"{folder} holds free predictions, which have no candidates; omit --pairs"
            )
        results = compute_results(run, bootstrap, choice, options)
        parts = []
        if by_relation:
            parts.append(Part("Relations", [make_relations_table(results)]))
        if by_template:
            parts.append(make_templates_part(results))
        if popularity:
            parts.append(Part("Popularity", [make_popularity_table(results, repeat=False)]))
        for name in named:
            if not results.get(name):
                raise PolyprobeError(f"--pairs: {folder} has no {name}; choose another figure")
        if named:
            parts.append(make_pairs_part(results, named))
        show_run(FinishedRun(run, results), parts)


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders; several are compared.")],
    output: PageFile = None,
    relations: Relations = None,
    exclude: Exclude = None,
    figure: FigureFile = None,
    draw: DrawnName = None,
    order: Order = "given",
    names: LanguageNames = "codes",
) -> None:
    """Write the report of one or several runs as one HTML file, or save one of its pictures."""
    MapOutputs(
        figure=figure, draw=draw, order=order, names=names
    )  # refuses options without --figure
    if not (output or figure):
        raise PolyprobeError(
            "nothing to write; give --output FILE.html for the report, or --figure FILE for a "
            "picture"
        )
    from polyprobe.report.page import write_report

    pictures = write_report(runs, output, parse_choice(relations, exclude))
    if output:
        say(f"report: {output}")
    if figure:
        save_chosen(pictures, figure, draw, order, names)


def show_run(finished: "FinishedRun", parts: "Sequence[Part]" = ()) -> None:
    """Print parts and a run's table, and write its report; remove an older report if that fails."""
    from polyprobe.report.findings.run import make_run_finding
    from polyprobe.report.page import write_pages
    from polyprobe.report.show import render

    console = Console()
    for block in render(make_run_finding(finished.results, parts), console.width):
        console.print(Text(block) if isinstance(block, str) else block)
    file = finished.run.folder / "report.html"
    try:
        write_pages([finished], file)
    except PolyprobeError as error:
        file.unlink(missing_ok=True)  # of other figures
        say(f"no report: {error}")
    else:
        say(f"report: {file}")
