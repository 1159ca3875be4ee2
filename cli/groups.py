"""`polyprobe groups`: figures of a run by groups of facts or languages, with tests."""

from pathlib import Path
from typing import Annotated

import typer

from polyprobe.eval.analysis.groups import OF_FACTS, OF_LANGUAGES, UNITS, check_by

from .options import (
    Cluster,
    DrawnName,
    Exclude,
    FigureFile,
    JsonFile,
    LanguageNames,
    Order,
    PageFile,
    Relations,
    Resamples,
    Seed,
    check_drawn,
    checked,
    import_evaluate,
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
            help=f"{', '.join((*OF_FACTS, *OF_LANGUAGES))}, or a TSV file: a language, fact id, "
            "or entity id in each line, and its group.",
        ),
    ],
    gender: Annotated[
        Path | None,
        typer.Option(help="TSV of subject ids and female, male or none, for --by gender."),
    ] = None,
    unit: Annotated[
        str,
        typer.Option(
            callback=one_of(UNITS),
            help="Labels are permuted over these: language, subject, fact, or auto: the first of "
            "them of which each has one group.",
        ),
    ] = "auto",
    each_language: Annotated[
        bool, typer.Option("--each-language", help="Groups of facts in each language apart.")
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
    order: Order = "given",
    names: LanguageNames = "codes",
) -> None:
    """Count right and wrong by group, and test whether the groups differ.

    Tests: Pearson's chi-squared, which takes all rows as independent, and a permutation of the
    labels of whole facts, subjects or languages, which does not.
    """
    check_drawn(figure, draw, order, names)
    import_evaluate()
    from polyprobe.eval.analysis.groups.measure import group_run
    from polyprobe.eval.analysis.groups.table import list_pictures, render
    from polyprobe.eval.report.analysis.groups import write_groups
    from polyprobe.eval.results.options import Bootstrap
    from polyprobe.eval.run.folder import Run

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
        save_chosen(list_pictures(found), figure, draw, order, names)
