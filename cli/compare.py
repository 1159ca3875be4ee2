"""`polyprobe compare`: do two runs differ on the same facts, or is it chance?"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from polyprobe import PolyprobeError

if TYPE_CHECKING:
    from polyprobe.eval.compare import Comparison
    from polyprobe.eval.run import Run
    from polyprobe.eval.twins import Twins, Wanted

TWINS = "Twins (CONFIG and CONFIG-sentence)"


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
    from polyprobe.eval.compare import compare_runs
    from polyprobe.eval.run import Run
    from polyprobe.eval.twins import find_twins

    runs = (Run(run_a), Run(run_b))
    options = {
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
    from polyprobe.eval.twin_comet import REFERENCE_FREE, Comet
    from polyprobe.eval.twins import Wanted

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


def show_twins(
    twins: "Twins", wanted: "Wanted", options: dict, output: Path | None, page: Path | None
) -> list[str]:
    """Print and write the comparison of twins; return what was asked for and failed."""
    from polyprobe.eval import twin_table
    from polyprobe.eval.compare import compare_runs
    from polyprobe.eval.report.twins import write_page
    from polyprobe.eval.twins import compare_twins

    console = Console()
    found = compare_runs(twins.sentence, twins.template, **options)
    between = compare_twins(twins, wanted, **options)
    head = "A is the run on sentences, B its twin on templates: differences are sentence - template"
    console.print(head, markup=False, highlight=False, soft_wrap=True)
    show(found, options["correction"], options["n_resamples"])
    console.print(twin_table.twins_table(between, options["correction"]))
    lines = "\n".join(twin_table.list_notes(between))
    console.print(lines, markup=False, highlight=False, soft_wrap=True)
    if output:
        write_json(output, {**as_json(found), "twins": twin_table.as_json(between)})
    if page:
        write_page(twins, between, options, page)
        console.print(f"report: {page}", markup=False, highlight=False, soft_wrap=True)
    return between.failures if wanted.gender or wanted.comet else []


def write_json(output: Path, values: dict) -> None:
    """Write a comparison, whole or not at all."""
    from polyprobe.eval.writing import write_whole

    text = json.dumps(values, indent=2, ensure_ascii=False) + "\n"
    write_whole(
        output, lambda part: part.write_text(text, encoding="utf-8"), "choose another --json"
    )


def as_json(found: "Comparison") -> dict:
    """Return a comparison as JSON holds it: figure, then name, then what was found."""
    differences = {
        figure: {row.name: dict(list(row._asdict().items())[1:]) for row in rows}
        for figure, rows in found.differences.items()
    }
    return {**found._asdict(), "differences": differences}


def show(found: "Comparison", correction: str, resamples: int) -> None:
    """Print the means and the languages' accuracies, and how many pairs differ."""
    from polyprobe.eval.table import difference_cells

    console = Console()
    table = Table(header_style="bold", highlight=False)
    for name in ("figure", "A", "B", "A - B", "95 %", f"p ({correction})"):
        table.add_column(name, justify="left" if name == "figure" else "right", overflow="fold")
    for figure, rows in found.differences.items():
        for row in rows if figure == "accuracy" else rows[-1:]:
            table.add_row(f"{figure} {row.name}", *difference_cells(row))
    console.print(table)
    lines = [f"A: {found.runs[0]}", f"B: {found.runs[1]}", *notes(found, correction, resamples)]
    console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)


def notes(found: "Comparison", correction: str, resamples: int) -> list[str]:
    """Return what a reader must know beside the table, a line each."""
    from polyprobe.eval.least_p import explain_least

    test, clusters = found.settings["test"], found.settings["clusters"]
    units = "" if clusters == "none" else f" in {found.n_units:,} {clusters}s"
    lines = [
        f"{found.n_queries:,} rows{units}, {len(found.languages)} languages: "
        f"{', '.join(found.languages)}; {test}, {resamples:,} resamples"
    ]
    if found.left_out_languages:
        lines.append(f"languages of one run alone: {', '.join(found.left_out_languages)}")
    if any(found.left_out):
        only = " and ".join(f"{n:,} of {x}" for n, x in zip(found.left_out, "AB", strict=True))
        lines.append(f"left out, because the other run has them not: {only}")
    for figure, rows in found.differences.items():
        tested = [row.p_adjusted for row in rows[:-1] if row.p_adjusted is not None]
        differ = sum(p < 0.05 for p in tested)
        lines.append(f"{figure}: {differ} of {len(tested)} differ at p ({correction}) < .05")
    told = explain_least(found, correction, resamples)
    return [*lines, told] if told else lines
