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


def read_scores(text: str) -> dict[str, list[list[float]]]:
    """Return each language's scores, a row a query, from lines `query, candidate, languages`.

    The lines of a query need not stand together; candidates keep the order of their lines.
    """
    return _read_columns(text, "query, candidate, languages")


def read_marked_scores(text: str) -> tuple[dict[str, list[list[float]]], list[list[int]]]:
    """Return what `read_scores` does and the right indices of each query.

    A line has `right` (1 or 0) behind the candidate.
    """
    columns = _read_columns(text, "query, candidate, right, languages")
    marked, *names = columns
    right = [[i for i, mark in enumerate(marks) if mark] for marks in columns[marked]]
    return {name: columns[name] for name in names}, right


def read_predictions(text: str) -> tuple[dict[str, list[int]], list[list[int]]]:
    """Return the predicted index of each query in each language, and the right indices.

    A line is `query, right, languages`; indices are given to its answers as they first occur.
    """
    (_, _, *languages), lines = read_lines(text, "query, right, languages")
    predictions: dict[str, list[int]] = {name: [] for name in languages}
    answers = []
    for _, right, *cells in lines:
        known = split_list(right)
        index = {name: i for i, name in enumerate(dict.fromkeys([*known, *map(str.strip, cells)]))}
        answers.append([index[name] for name in known])
        for language, cell in zip(languages, cells, strict=True):
            predictions[language].append(index[cell.strip()])
    return predictions, answers


def _read_columns(text: str, expected: str) -> dict[str, list[list[float]]]:
    (_, _, *names), lines = read_lines(text, expected)
    queries: dict[str, list[list[float]]] = {}
    for number, (query, _, *cells) in enumerate(lines, start=1):
        queries.setdefault(query, []).append(read_numbers(cells, number))
    columns = [list(map(list, zip(*rows, strict=True))) for rows in queries.values()]
    return {name: [column[i] for column in columns] for i, name in enumerate(names)}


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
