"""Print a comparison of two runs."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from polyprobe.eval.compare.runs import Comparison
    from polyprobe.eval.compare.sentences.compare import Twins, Wanted


TWINS = "Twins (CONFIG and CONFIG-sentence)"


def show_twins(
    twins: "Twins", wanted: "Wanted", options: dict, output: Path | None, page: Path | None
) -> list[str]:
    """Print and write the comparison of twins; return what was asked for and failed."""
    from polyprobe.eval.compare.runs import compare_runs
    from polyprobe.eval.compare.sentences import table as twin_table
    from polyprobe.eval.compare.sentences.compare import compare_twins
    from polyprobe.eval.compare.sentences.page import write_page

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
    from polyprobe.system.files import write_whole

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
    from polyprobe.eval.results.table import difference_cells

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
    from polyprobe.eval.compare.power import explain_least

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
