"""What the Spaces of the metrics share: a pasted table in, rows of figures out.

The folders of metrics/ hold this file as a link, so that each of them is whole.
"""

import csv
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path

import evaluate

Row = list[str | float | int | None]


def load_beside(app: str) -> evaluate.EvaluationModule:
    """Return the module that stands beside an app.py, whose path is given."""
    folder = Path(app).resolve().parent
    return evaluate.load(str(folder / f"{folder.name}.py"), keep_in_memory=True)


def read_lines(text: str, columns: str) -> tuple[list[str], list[list[str]]]:
    """Return the header and the lines that are not blank, all of one width.

    Cells are parted by comma, semicolon or tab; `columns`, the names of what is expected, stands in
    the error.
    """
    delimiter = max("\t;,", key=text.lstrip().partition("\n")[0].count)
    lines = csv.reader(StringIO(text.lstrip()), delimiter=delimiter, skipinitialspace=True)
    header, *rows = [*filter(any, lines)] or [[]]
    if len(header) <= columns.count(","):
        raise ValueError(f"the first line is {delimiter.join(header)!r}; expected {columns}")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise ValueError(f"line {number} has {len(row)} cells; expected {len(header)}")
    return header, rows


def read_numbers(cells: Sequence[str], number: int) -> list[float]:
    """Return the cells of the line of that number as numbers."""
    try:
        return [float(cell) for cell in cells]
    except ValueError as error:
        raise ValueError(f"line {number}: {error}; expected numbers") from None


def split_list(cell: str) -> list[str]:
    """Return the parts of a cell that `|` divides, without blanks around them or empty parts.

    >>> split_list("English | French|")
    ['English', 'French']
    """
    return [part.strip() for part in cell.split("|") if part.strip()]


def show(value: float | None) -> float | None:
    """Return a figure with four decimals; None stays."""
    return None if value is None else round(value, 4)


def show_interval(bounds: Sequence[float] | None) -> str | None:
    """Return an interval as text.

    >>> show_interval([0.25, 1])
    '0.2500 – 1.0000'
    """
    return None if bounds is None else " – ".join(f"{bound:.4f}" for bound in bounds)


def build(
    title: str,
    help_text: str,
    example: str,
    headers: Sequence[str],
    compute: Callable[..., list[Row]],
    **choices: Sequence[str],
):
    """Return the page: a box with the example, a choice a keyword, a table (gradio needed here)."""
    import gradio

    def answer(*values):
        try:
            return compute(*values)
        except (ValueError, TypeError) as error:
            raise gradio.Error(str(error), print_exception=False) from error

    with gradio.Blocks(title=title) as page:
        gradio.Markdown(help_text)
        inputs = [gradio.Textbox(example, lines=10, label="table")]
        for name, known in choices.items():
            inputs.append(gradio.Dropdown(list(known), value=known[0], label=name))
        button = gradio.Button("Compute", variant="primary")
        gradio.Button.click(button, answer, inputs, gradio.Dataframe(headers=list(headers)))
    return page
