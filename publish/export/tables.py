"""The figures of a run as tables: CSV for pandas, R and spreadsheets, LaTeX for a paper."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from polyprobe.analysis.figures.figures import FIGURES
from polyprobe.analysis.figures.floors import FLOORS
from polyprobe.analysis.figures.results import MEAN, FigureRow, is_above_floor
from polyprobe.report.finding import Column, Table
from polyprobe.report.show import escape, join_cells, percent, to_csv
from polyprobe.system.text import clean

from .exported import MARK, Exported, write_export

WIDTH = 17  # languages side by side
# The figures with a mean column, as in the paper: pairs before languages.
COLUMNS = {
    figure.name: figure.display.paper
    for figure in sorted(FIGURES, key=lambda figure: figure.per, reverse=True)
    if any(figure.display.paper)
}
_FLOORS = {floor.name: floor.title for floor in FLOORS}
_EMPTY = FigureRow("", "")


def write_csv(exported: Exported, output: Path | None) -> Path:
    """Write `results.csv`: one row for each figure and language or pair, as in `FigureRow`."""
    # Numbers have all digits, so that reading gives the same floats; undefined values are empty.
    # The signature lets a reader concatenate tables of several runs.
    columns = [Column(name) for name in (*FigureRow._fields, "signature")]
    rows = [[*row, exported.signature] for row in (*exported.rows, *exported.of_relations)]
    text = to_csv(Table(columns, rows))
    return write_export(output or exported.folder / "results.csv", text)


def write_latex(exported: Exported, output: Path | None) -> Path:
    """Write `table.tex`, with the columns of table 5 of Qi, Fernández and Bisazza (2023)."""
    # CLC adjusted for chance is added, because the chance level of RankC depends on the number of
    # candidates. Tables of more than 17 languages continue in further blocks.
    return write_export(output or exported.folder / "table.tex", make_table(exported))


def make_table(exported: Exported) -> str:
    """Make the table; without CLC for free predictions, which have no rankings."""
    columns = list_columns(exported)
    if all(row.value is None for _, row in columns):
        raise exported.no_figure()
    languages = exported.settings.languages
    means = [row for _, row in columns[: -len(languages)]]
    width = len(means) + min(WIDTH, len(languages))
    lines = [
        f"% {MARK}",
        clean(f"% {'|'.join([exported.settings.signature, *exported.listed_options])}"),
        r"% \usepackage{booktabs}",
        r"\begin{table*}",
        r"\centering\small\setlength{\tabcolsep}{2pt}",
        rf"\begin{{tabular}}{{l{'r' * width}}}",
        r"\toprule",
        *make_blocks(exported, columns, width),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{make_caption(exported, means)}}}",
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def list_columns(exported: Exported) -> list[tuple[str, FigureRow]]:
    """List headings and figures: the run's COLUMNS, then each language's accuracy."""
    rows = {(row.figure, row.language): row for row in exported.rows if not row.other_language}
    means = [(head, rows.get((figure, MEAN))) for figure, (head, _) in COLUMNS.items()]
    languages = exported.settings.languages
    return [
        *((head, row) for head, row in means if row),
        *((x, rows.get(("accuracy", x), _EMPTY)) for x in languages),
    ]


def make_blocks(
    exported: Exported, columns: Sequence[tuple[str, FigureRow]], width: int
) -> Iterator[str]:
    """Yield the lines of the table; each has a cell for the model and `width` others."""
    model = exported.settings.model_name
    for start in range(0, len(columns), width):
        block = list(columns[start : start + width])
        block += [("", _EMPTY)] * (width - len(block))
        if start:
            yield r"\midrule"
        yield join_cells(["Model" if not start else "", *(escape(head) for head, _ in block)])
        yield r"\midrule"
        values = [_emphasise(row, exported.results) if head else "" for head, row in block]
        yield join_cells([escape(model) if not start else "", *values])
        if any(row.low is not None for _, row in block):
            for name, bound in (("from", "low"), ("to", "high")):
                bounds = [getattr(row, bound) for _, row in block]
                cells = ["" if x is None else rf"\scriptsize {percent(x)}" for x in bounds]
                yield join_cells([rf"\scriptsize 95\,\% {name}", *cells])


def make_caption(exported: Exported, means: Sequence[FigureRow]) -> str:
    """Describe the columns, data, protocol and levels, escaped."""
    names = ", ".join(COLUMNS[row.figure][1] for row in means)
    chances = [
        f"{COLUMNS[row.figure][0]} {percent(row.chance)}" for row in means if row.chance is not None
    ]
    floors = [
        f"{COLUMNS[row.figure][0]} {percent(row.floor)} ({_FLOORS[row.floor_name]})"
        for row in means
        if row.floor is not None
    ]
    sentences = [
        f"{names[:1].upper()}{names[1:]} and accuracy by language in percent on "
        f"{exported.dataset_name}, configuration {exported.config}; "
        f"{exported.results['n_queries']:,} facts ({exported.selection}); "
        + "; ".join([f"scoring {exported.settings.scoring_name}", *exported.listed_options])
    ]
    if chances:
        sentences.append(f"Chance: {', '.join(chances)}")
    if floors:
        sentences.append(f"Floors: {', '.join(floors)}")
        sentences.append("Bold: values whose interval is not above their floor")
    if n := exported.results["resampling"]["n_resamples"]:
        sentences.append(f"95% intervals by bootstrap, {n:,} resamples")
    return escape(clean(" ".join(f"{sentence}." for sentence in sentences)))


def _emphasise(row: FigureRow, results: Mapping[str, Any]) -> str:
    """Write a value in percent, bold if its interval is not above its floor."""
    text = percent(row.value)
    is_low = is_above_floor(results, row.figure, row.language) is False
    return rf"\textbf{{{text}}}" if is_low else text
