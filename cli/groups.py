"""`polyprobe groups`: figures of a run by group of facts or languages, with tests."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from polyprobe.analysis.groups import OF_FACTS, OF_LANGUAGES, GroupOptions, check_by

from .options import PageOutputs, checked, take_options


@dataclass(frozen=True)
class GroupsOptions(PageOutputs, GroupOptions):
    """All options of the command."""


@take_options(GroupsOptions)
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
    **keywords: Any,
) -> None:
    """Count right and wrong rows by group, and test whether the groups differ.

    Tests: Pearson's chi-squared test, which assumes independent rows, and a permutation of the
    labels of whole facts, subjects or languages, which does not. --resamples sets the bootstrap
    only: the permutation test draws 10,000 assignments, or enumerates all if there are fewer.
    """
    options = GroupsOptions(**keywords)
    # these imports take a second; mistakes of the user are refused before
    from polyprobe.analysis.groups.groups import group_run
    from polyprobe.report.findings.groups import make_groups_finding
    from polyprobe.schema.run.folder import Run

    result = group_run(
        Run(run),
        by,
        gender=options.gender,
        unit=options.unit,
        each_language=options.each_language,
        choice=options.choice,
        bootstrap=options.bootstrap,
    )
    options.write(make_groups_finding(result), result.as_json)
