r"""Read the table of a Space, pasted or from a file, by columns, and check its cells.

>>> read_text("query; right\nCapital of Kenya; Nairobi")
{'query': ['Capital of Kenya'], 'right': ['Nairobi']}
"""

import csv
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet

Sheet = dict[str, list[Any]]
Sheets = Mapping[str, Sheet]
SUFFIXES = [".csv", ".tsv", ".txt", ".json", ".parquet"]


def read_sheets(text: str, files: Sequence[str] | None = None) -> dict[str, Sheet]:
    """Read file name without suffix → table of each file, or the table of the text."""
    if not files:
        return {"": read_text(text)}
    sheets: dict[str, Sheet] = {}
    for path in map(Path, files):
        if path.stem in sheets:
            raise ValueError(f"two files are called {path.stem}; expected different names")
        sheets[path.stem] = read_file(path)
    return sheets


def read_only(sheets: Sheets, *names: str) -> Sheet:
    """Take the single table; several are an error, as is one without the columns `names`."""
    if len(sheets) != 1:
        raise ValueError(f"{len(sheets)} files ({', '.join(sheets)}); expected one with all rows")
    [sheet] = sheets.values()
    if names:
        need(sheet, *names)
    return sheet


def read_file(path: Path) -> Sheet:
    """Read the table of a CSV, TSV, JSON or Parquet file; errors contain its name."""
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{path.name}: expected a file that ends in {', '.join(SUFFIXES)}")
    try:
        if path.suffix.lower() == ".parquet":
            return _check(pyarrow.parquet.read_table(path).to_pydict())
        return read_text(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name}: byte {error.start} is not UTF-8") from error
    except (pyarrow.ArrowException, OSError) as error:  # which name the path on the server
        reason = str(error).rpartition("': ")[2].partition("\n")[0]
        raise ValueError(f"{path.name} cannot be read: {reason}") from error
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error


def read_text(text: str) -> Sheet:
    """Parse a table: cells separated by comma, semicolon or tab, or JSON."""
    # JSON is a list of rows, `[{"query": …}, …]`, or a mapping of columns, `{"query": […], …}`.
    text = text.strip("\n\r ")
    if not text:
        raise ValueError("the table is empty; paste one or choose a file")
    return _read_json(text) if text[0] in "[{" else _read_cells(text)


def need(sheet: Sheet, *names: str) -> list[list[Any]]:
    """Take some columns; a missing one and a table without rows are errors."""
    for name in names:
        if name not in sheet:
            raise ValueError(f"no column {name!r}; expected {', '.join(names)}, got {_list(sheet)}")
    if not sheet[names[0]]:
        raise ValueError("the table has names of columns and no rows")
    return [sheet[name] for name in names]


def read_numbers(cells: Sequence[Any], name: str) -> np.ndarray:
    """Read a column of numbers; other cells, NaN and empty ones too, raise an error."""
    numbers = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        with suppress(ValueError, TypeError):
            numbers[row] = float(cell)
    for row in np.flatnonzero(np.isnan(numbers))[:1]:
        raise ValueError(f"row {row + 1}, column {name!r} is {cells[row]!r}; expected a number")
    return numbers


def read_marks(cells: Sequence[Any], name: str) -> list[bool]:
    """Read a column of 1 (true) and 0 (false)."""
    values = {"1": True, "true": True, "0": False, "false": False}
    for row, cell in enumerate(cells, start=1):
        if str(cell).strip().lower() not in values:
            raise ValueError(f"row {row}, column {name!r} is {cell!r}; expected 1 or 0")
    return [values[str(cell).strip().lower()] for cell in cells]


def read_texts(cells: Sequence[Any], name: str) -> list[str]:
    """Read a column of texts without surrounding spaces; empty cells are an error."""
    texts = ["" if cell is None else str(cell).strip() for cell in cells]
    if "" in texts:
        raise ValueError(f"row {texts.index('') + 1}, column {name!r} is empty; expected a text")
    return texts


def read_lists(cells: Sequence[Any], name: str, gaps: bool = False) -> list[list[str]]:
    """Read a column of lists, in a text separated by `|`; an empty list is an error."""
    lists = [_split_list(cell) for cell in cells]
    for row, parts in enumerate(lists, start=1):
        if not parts or ("" in parts and not gaps):
            place = f"row {row}, column {name!r} {'has an empty part' if parts else 'is empty'}"
            raise ValueError(f"{place}; expected a text or several with |")
    return lists


def read_further(sheet: Sheet, columns: Sequence[str], gaps: bool = False) -> list[list[str]]:
    """Read the lists of the last of `columns`, continued by the sheet's columns after them."""
    lists = read_lists(sheet[columns[-1]], columns[-1], gaps)
    columns_after = [cells for name, cells in sheet.items() if name not in columns]
    return [
        [*parts, *(part for cells in columns_after for part in _split_list(cells[row]))]
        for row, parts in enumerate(lists)
    ]


def _split_list(cell: Any) -> list[str]:
    """Split a cell into parts, without surrounding spaces and empty parts at its ends.

    >>> _split_list("English | French|"), _split_list("x||y")
    (['English', 'French'], ['x', '', 'y'])
    """
    if cell is None:
        return []
    parts = cell if isinstance(cell, list) else str(cell).strip().strip("|").split("|")
    texts = [str(part).strip() for part in parts]
    return texts if any(texts) else []


# Not by pandas: read_csv fills short rows, takes the first cells of longer rows as an index,
# renames equal columns and accepts a quotation mark within a cell. read_json and read_parquet turn
# integers beside an empty cell into floats; read_parquet also turns lists into arrays.
def _read_cells(text: str) -> Sheet:
    delimiter = max("\t;,", key=text.partition("\n")[0].count)
    lines = csv.reader(StringIO(text), delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        names, *rows = filter(any, lines)
    except csv.Error as error:
        raise ValueError(f"line {lines.line_num}: {error}; look at its quotation marks") from None
    names = [name.strip() for name in names]
    for name in names:
        if not name or names.count(name) > 1:
            raise ValueError(f"the columns are {_list(names)}; expected different names")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(names):
            expected = f"{len(names)}: {_list(names)}"
            raise ValueError(f"row {number} has {len(row)} cells; expected {expected}")
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return dict(zip(names, map(list, columns), strict=True))


def _read_json(text: str) -> Sheet:
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno} is not JSON: {error.msg}") from None
    if isinstance(content, dict):
        return _check(content)
    for number, row in enumerate(content, start=1):
        if not isinstance(row, dict) or row.keys() != content[0].keys():
            raise ValueError(f"row {number} is {row!r:.80}; expected the names of row 1 and values")
    return {name: [row[name] for row in content] for name in content[0]} if content else {}


def _check(columns: Mapping[str, Any]) -> Sheet:
    first = next(iter(columns), "")
    for name, cells in columns.items():
        if not isinstance(cells, list):
            raise ValueError(f"column {name!r} is {cells!r:.80}; expected a list of cells")
        if (size := len(cells)) != len(columns[first]):
            raise ValueError(f"column {name!r} has {size} rows, {first!r} {len(columns[first])}")
    return dict(columns)


def _list(names: Sequence[str] | Mapping[str, Any]) -> str:
    """Format the first names, for an error of one line."""
    first = [*names][:8]
    return ", ".join(map(repr, first)) + (" …" if len(names) > len(first) else "")
