"""`polyprobe compare`: do two runs differ on the same facts, or is it chance?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyprobe.system.errors import PolyprobeError

if TYPE_CHECKING:
    from polyprobe.eval.compare.sentences.compare import Wanted
    from polyprobe.eval.run.folder import Run

from polyprobe.cli.show.comparison import TWINS, as_json, show, show_twins, write_json


def compare(
    run_a: Annotated[Path, typer.Argument(help="A run folder.")],
    run_b: Annotated[Path, typer.Argument(help="Another, of the same dataset.")],
    test: Annotated[
        str, typer.Option(help="randomisation (approximate, of swapped facts) or bootstrap.")
    ] = "randomisation",
    correction: Annotated[
        str, typer.Option(help="Over languages or pairs: holm, bh (Benjamini-Hochberg) or none.")
    ] = "holm",
    resamples: Annotated[
        int, typer.Option(min=1, help="Swaps, and draws of the intervals.")
    ] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Of swaps and draws.")] = 0,
    cluster: Annotated[
        str, typer.Option(help="Swapped and drawn as a whole: none, relation or subject.")
    ] = "none",
    output: Annotated[Path | None, typer.Option("--json", help="Write all of it there.")] = None,
    page: Annotated[
        Path | None,
        typer.Option("--output", help="Pictures, an HTML file.", rich_help_panel=TWINS),
    ] = None,
    gender: Annotated[
        Path | None,
        typer.Option(
            help="TSV of subject ids and female, male or none: counts feminine verb forms.",
            rich_help_panel=TWINS,
        ),
    ] = None,
    stanza: Annotated[
        Path | None,
        typer.Option(help="Folder of Stanza's models with a tagger.", rich_help_panel=TWINS),
    ] = None,
    comet_python: Annotated[
        str | None,
        typer.Option(help="A Python with unbabel-comet: estimates quality.", rich_help_panel=TWINS),
    ] = None,
    comet_model: Annotated[
        str | None,
        typer.Option(
            help="Reference-free, on the Hub or a checkpoint; wmt22-cometkiwi-da by default.",
            rich_help_panel=TWINS,
        ),
    ] = None,
) -> None:
    """Test whether two runs differ: accuracy by language, RankC and the like by pair.

    Of a run on templates and one on the same configuration's -sentence twin, in any order, it also
    tells what sentences change: recall@k, mean rank, inflection, texts.
    """
    from polyprobe.eval.compare.runs import compare_runs
    from polyprobe.eval.compare.sentences.compare import find_twins
    from polyprobe.eval.run.folder import Run

    runs = (Run(run_a), Run(run_b))
    options: dict[str, Any] = {
        "test": test,
        "correction": correction,
        "n_resamples": resamples,
        "seed": seed,
        "clusters": cluster,
    }
    wanted = read_wanted(gender, stanza, comet_python, comet_model)
    twins = find_twins(*runs)
    if twins is None:
        refuse_alone(runs, {"--output": page, "--gender": gender, "--comet-python": comet_python})
        found = compare_runs(*runs, **options)
        show(found, correction, resamples)
        if output:
            write_json(output, as_json(found))
        return
    if show_twins(twins, wanted, options, output, page):
        raise typer.Exit(1)


def read_wanted(
    gender: Path | None, stanza: Path | None, python: str | None, model: str | None
) -> "Wanted":
    """Return what is asked for of twins; options that need another one are refused without it."""
    from polyprobe.eval.compare.sentences.compare import Wanted
    from polyprobe.eval.compare.sentences.quality import REFERENCE_FREE, Comet

    if stanza and not gender:
        raise PolyprobeError("--stanza is for --gender FILE; give that, or leave --stanza out")
    if model and not python:
        raise PolyprobeError("--comet-model is for --comet-python PATH; give that too")
    return Wanted(gender, stanza, Comet(python, model or REFERENCE_FREE) if python else None)


def refuse_alone(runs: "tuple[Run, Run]", given: dict[str, object]) -> None:
    """Refuse what only twins have where two runs are none."""
    named = [option for option, value in given.items() if value]
    if named:
        one, other = (run.settings().data_name for run in runs)
        raise PolyprobeError(
            f"{', '.join(named)}: only of a template run and its sentence twin; {one} and {other} "
            "are none (expected a configuration and the same one with -sentence)"
        )
