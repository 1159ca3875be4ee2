"""`polyprobe groups`: figures of a run by group of facts or languages, with tests."""

from pathlib import Path
from typing import Annotated

import typer

from polyprobe.analysis.groups import OF_FACTS, OF_LANGUAGES, UNITS, check_by

from .options import (
    Cluster,
    DrawnName,
    Exclude,
    FigureFile,
    JsonFile,
    PageFile,
    Relations,
    Resamples,
    Seed,
    checked,
    one_of,
    parse_choice,
)
from .outputs import Outputs


def groups(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    by: Annotated[
        str,
        typer.Option(
            callback=checked(check_by),
            help=f"{', '.join((*OF_FACTS, *OF_LANGUAGES))}, or a TSV file with an id (of a "
            "language, fact, subject or object) and its group in each line.",
        ),
    ],
    gender: Annotated[
        Path | None,
        typer.Option(help="TSV file of subject ids and female, male or none (for --by gender)."),
    ] = None,
    unit: Annotated[
        str,
        typer.Option(
            callback=one_of(UNITS),
            help="Unit whose rows keep one label in the permutation: language, subject or fact "
            "(auto: the largest unit that never spans two groups).",
        ),
    ] = "auto",
    each_language: Annotated[
        bool,
        typer.Option("--each-language", help="Test groups of facts separately in each language."),
    ] = False,
    resamples: Resamples = None,
    seed: Seed = 0,
    cluster: Cluster = "auto",
    relations: Relations = None,
    exclude: Exclude = None,
    json_file: JsonFile = None,
    page: PageFile = None,
    figure: FigureFile = None,
    draw: DrawnName = None,
) -> None:
    """Count right and wrong rows by group, and test whether the groups differ.

    Tests: Pearson's chi-squared test, which assumes independent rows, and a permutation of the
    labels of whole facts, subjects or languages, which does not. --resamples sets the bootstrap
    only: the permutation test draws 10,000 assignments, or enumerates all if there are fewer.
    """
    outputs = Outputs(json_file, page, figure, draw)
    outputs.check()
    from polyprobe.analysis.figures.options import Bootstrap
    from polyprobe.analysis.groups.groups import group_run
    from polyprobe.report.findings.groups import make_groups_finding
    from polyprobe.report.page.page import write_finding
    from polyprobe.schema.run.folder import Run

    result = group_run(
        Run(run),
        by,
        gender=gender,
        unit=unit,
        each_language=each_language,
        choice=parse_choice(relations, exclude),
        bootstrap=Bootstrap(resamples, seed, cluster),
    )
    outputs.write(make_groups_finding(result), result.as_json, write_finding)
