"""A table for a paper, with the columns of table 5 of Qi, Fernández and Bisazza (2023).

Theirs has a row a model: CLC (mean RankC), mean accuracy, then the accuracy of each language, all
in percent. So has this one of a run, and the 95 % intervals below it. A table of more than 17
languages, the paper's number, goes on in further blocks.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from polyprobe import PolyprobeError

from .rows import MEAN, Row
from .source import Source
from .writing import MARK, REMEDY, write_export

WIDTH = 17  # languages side by side
UNDEFINED = "--"
ESCAPES = {
    **{char: f"\\{char}" for char in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
_EMPTY = Row("", "", "", None, None, None, None, None)


def write_latex(source: Source, output: Path | None) -> Path:
    """Write `table.tex`, which needs the package booktabs; it begins with the signature."""
    return write_export(output or source.folder / "table.tex", make_table(source))


def make_table(source: Source) -> str:
    """Return the table; CLC is left out where the run has no rankings (free predictions).

    Raises:
        PolyprobeError: no figure is defined.
    """
    columns = list_columns(source)
    if all(row.value is None for _, row in columns):
        raise PolyprobeError(f"{source.folder}/results.json has no defined figure; {REMEDY}")
    heads, languages = columns[: -len(source.settings.languages)], source.settings.languages
    width = len(heads) + min(WIDTH, len(languages))
    lines = [
        f"% {MARK}",
        f"% {source.settings.signature}",
        r"% \usepackage{booktabs}",
        r"\begin{table*}",
        r"\centering\small\setlength{\tabcolsep}{2pt}",
        rf"\begin{{tabular}}{{l{'r' * width}}}",
        r"\toprule",
        *make_blocks(source.settings.model_name, columns, width),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{make_caption(source, [head for head, _ in heads])}}}",
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def list_columns(source: Source) -> list[tuple[str, Row]]:
    """Return heads and figures: mean RankC, mean accuracy, then each language's accuracy."""
    found = {(row.figure, row.language): row for row in source.rows if not row.other_language}
    means = [("CLC", ("rankc", MEAN)), ("Acc", ("accuracy", MEAN))]
    columns = [(head, found[key]) for head, key in means if key in found]
    languages = source.settings.languages
    return [*columns, *((x, found.get(("accuracy", x), _EMPTY)) for x in languages)]


def make_blocks(model: str, columns: Sequence[tuple[str, Row]], width: int) -> Iterator[str]:
    """Yield the lines of the table; every line has a cell for the model and `width` others."""
    for start in range(0, len(columns), width):
        block = list(columns[start : start + width])
        block += [("", _EMPTY)] * (width - len(block))
        if start:
            yield r"\midrule"
        yield _line(["Model" if not start else "", *(escape(head) for head, _ in block)])
        yield r"\midrule"
        values = [_percent(row.value) if head else "" for head, row in block]
        yield _line([escape(model) if not start else "", *values])
        if any(row.low is not None for _, row in block):
            for name, bounds in (
                ("from", [r.low for _, r in block]),
                ("to", [r.high for _, r in block]),
            ):
                cells = ["" if bound is None else _percent(bound) for bound in bounds]
                yield _line([rf"\scriptsize 95\,\% {name}", *(_small(cell) for cell in cells)])


def make_caption(source: Source, heads: Sequence[str]) -> str:
    """Return what the columns are and what was asked, escaped."""
    clc = "Cross-lingual consistency (CLC, mean RankC), mean accuracy (Acc)"
    said = clc if "CLC" in heads else "Mean accuracy (Acc)"
    resampling = source.results["resampling"]
    drawn = f" 95 % intervals by bootstrap, {resampling['n_resamples']:,} resamples."
    intervals = drawn if resampling["n_resamples"] else ""
    data = f"{source.dataset_name}, configuration {source.config}"
    rows = f"{source.results['n_queries']:,} facts ({source.asked})"
    scoring = f"scoring {source.settings.scoring}"
    return escape(
        f"{said} and accuracy by language in percent on {data}; {rows}; {scoring}.{intervals}"
    )


def escape(text: str) -> str:
    r"""Return text as LaTeX prints it.

    >>> print(escape("zh_hans, 95 %"))
    zh\_hans, 95 \%
    """
    return "".join(ESCAPES.get(char, char) for char in text)


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _percent(value: float | None) -> str:
    return UNDEFINED if value is None else f"{100 * value:z.1f}"


def _small(cell: str) -> str:
    return rf"\scriptsize {cell}" if cell else ""
