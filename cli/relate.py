"""`polyprobe relate`: what correlates with the consistency of two languages."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from polyprobe.analysis.relate import NAMES, RelateOptions, check_with
from polyprobe.schema.names import split_list
from polyprobe.system.errors import PolyprobeError

from .options import MapOutputs, checked, parse_splits, take_options


def check_items(texts: str) -> None:
    """Refuse items that are neither names nor files or folders."""
    items = split_list(texts)
    if not items:
        raise PolyprobeError(f"--with is empty; name one or more of {', '.join(NAMES)}")
    for item in items:
        check_with(item)


@dataclass(frozen=True)
class CommandOptions(MapOutputs, RelateOptions):
    """All options of the command."""


@take_options(CommandOptions)
def relate(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    items: Annotated[
        str,
        typer.Option(
            "--with",
            metavar="WHAT[,WHAT]",
            callback=checked(check_items),
            help=f"{', '.join(NAMES)}, a TSV file with a number for each language or pair, or "
            "another run folder.",
        ),
    ],
    **keywords: Any,
) -> None:
    """Correlate RankC of pairs of languages with shared subwords, kinship, accuracy or any table.

    It reports Pearson's and Spearman's correlations, as in the papers, and Mantel's test, because
    pairs share languages.
    """
    options = CommandOptions(**keywords)
    splits = parse_splits(options.languages)
    # these imports take a second; mistakes of the user are refused before
    from polyprobe.analysis.relate.relate import relate_run
    from polyprobe.report.findings.relate import make_relate_finding
    from polyprobe.schema.run.folder import Run
    from polyprobe.system.extras import explain_missing_extras

    with explain_missing_extras("reading a tokenizer", any_package=True):
        result = relate_run(Run(run), split_list(items), options, splits)
    options.write(make_relate_finding(result), result.as_json)
