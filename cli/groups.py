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
    check_drawn,
    checked,
    one_of,
    parse_choice,
    save_chosen,
    say,
    show,
    write_json,
)


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
    check_drawn(figure, draw)
    from polyprobe.analysis.figures.options import Bootstrap
    from polyprobe.analysis.groups.measure import group_run
    from polyprobe.report.groups import list_pictures, render
    from polyprobe.report.page.groups import write_groups
    from polyprobe.schema.run.folder import Run

    found = group_run(
        Run(run),
        by,
        gender=gender,
        unit=unit,
        each_language=each_language,
        choice=parse_choice(relations, exclude),
        bootstrap=Bootstrap(resamples, seed, cluster),
    )
    show(render(found))
    if json_file:
        write_json(json_file, found.as_json())
    if page:
        write_groups(Run(run), found, page)
        say(f"report: {page}")
    if figure:
        save_chosen(list_pictures(found), figure, draw)
