"""The shape of every result that people read: titles, tables of raw values, lines and pictures."""

from collections.abc import Collection, Mapping, Sequence
from enum import Enum, auto
from itertools import starmap
from typing import Any, NamedTuple

from polyprobe.metrics.pictures.picture import Bars, Picture, Series
from polyprobe.system.files import read_table_rows


class Role(Enum):
    """What a column holds, which decides alignment and format; strings are shown as they are."""

    NAME = auto()  # short text, left, never wrapped
    LABEL = auto()  # text, left, wrapped
    TEXT = auto()  # text, right
    COUNT = auto()  # 1,234
    AMOUNT = auto()  # 1,234.5: counts with fractions
    SIZE = auto()  # 1.2B: numbers of parameters
    VALUE = auto()  # 0.123
    NUMBER = auto()  # 0.123, whole between rules: where there are few columns
    RATIO = auto()  # 1.23
    SHARE = auto()  # 12.3: a share in percent; of an `Estimate`, its interval below
    PERCENT = auto()  # an `Estimate` of a share: 35% (12 to 60)
    CHANGE = auto()  # +12.3%: a change that is in percent already
    SLOPE = auto()  # +0.1234
    P = auto()  # 0.012: two digits
    INTERVAL = auto()  # [low, high] → 0.100 to 0.200, `*` if it has no width
    SLOPES = auto()  # [low, high] of a slope → +0.1234 to +0.2345
    ESTIMATE = auto()  # an `Estimate`: value ± half, interval below

    @property
    def is_text(self) -> bool:
        """Whether it is text on the left, not a figure on the right."""
        return self in (Role.NAME, Role.LABEL)

    @property
    def has_bar(self) -> bool:
        """Whether the page draws a bar below its values."""
        return self in (Role.VALUE, Role.ESTIMATE)


_WIDE = (Role.TEXT, Role.ESTIMATE, Role.INTERVAL, Role.SLOPES)
N_BESIDE = 4  # at most, columns of figures beside the name of a row on a phone


class Estimate(NamedTuple):
    """A value with its uncertainty; None: undefined or unknown."""

    value: float | None
    interval: Sequence[float] | None = None  # 95%, [low, high]
    half: float | None = None  # half the width of an interval of its parts, shown after `±`


class Cell(NamedTuple):
    """A value with another role than its column, in bold, with a mark, or with an address."""

    value: Any
    role: Role | None = None
    bold: bool = False  # the best of its column
    low: bool = False  # not above its floor
    link: str = ""  # on the page


class Column(NamedTuple):
    """A column of a table."""

    head: str  # lines of a long one are separated by newlines
    role: Role = Role.VALUE
    key: str = ""  # name in CSV; by default the head
    # The least width of the terminal that shows it; None: in CSV, and on the page on request.
    width: int | None = 0
    percent: bool = False  # in LaTeX, as in papers; else values have two decimals
    help: str = ""  # explanation of the heading on the page

    @classmethod
    def read(cls, table: str) -> "list[Column]":
        """Read the columns of a table that always has the same ones, from `columns.csv`."""
        return [
            cls(x["head"], Role[x["role"]], x["key"], int(x["width"]), bool(x["percent"]))
            for x in read_table_rows(__package__, "columns.csv")
            if x["table"] == table
        ]


class Table(NamedTuple):
    """A table of raw values."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]  # of types that fit the roles; a `Cell` has its own role
    title: str = ""  # line above the table
    ruled: bool = False  # has rules in the terminal
    dense: bool = False  # has one space between columns in the terminal, not two
    sections: Sequence[int] = ()  # places of the rows that start a section, below a rule
    limit: int | None = None  # number of rows in the terminal; None: all; 0: no table
    noun: str = "rows"  # what a row is, for the line below a table with a limit
    folded: str = ""  # line that the page shows instead, until a reader selects it

    @property
    def stacked(self) -> int:
        """Columns on a phone, where figures stand below the name of their row; 0: beside it."""
        roles = [x.role for x in self.columns if x.width is not None and not x.role.is_text]
        if any(role in _WIDE for role in roles):
            return min(len(roles), 3) if 1 < len(roles) < 2 * N_BESIDE + 2 else 0
        return (len(roles) + 1) // 2 if N_BESIDE < len(roles) <= 2 * N_BESIDE else 0

    def draw(self, title: str, measure: str, heads: Collection[str]) -> Bars:
        """Draw columns as bars for each row, with the intervals of the column behind each."""
        roles = [column.role for column in self.columns]
        series = []
        for place, column in enumerate(self.columns):
            if column.head in heads:
                values = [row[place] for row in self.rows]
                has_bounds = roles[place + 1 : place + 2] == [Role.INTERVAL]
                bounds = [row[place + 1] for row in self.rows] if has_bounds else []
                series.append(Series(column.head, values, bounds))
        return Bars(title, [row[0] for row in self.rows], series, measure)


class Drawing(NamedTuple):
    """A picture of a part, by the name of `--draw`."""

    name: str
    picture: Picture
    # Of pictures that take turns on the page: label of a select → its option.
    choice: Mapping[str, str] = {}


class Part(NamedTuple):
    """A part of a finding: tables and lines of text, in order."""

    title: str  # heading on the page, which omits a part without
    blocks: Sequence[Table | str]
    pictures: Sequence[Drawing] = ()
    heading: str = ""  # line above the part in the terminal

    @classmethod
    def of_files(cls, pictures: Mapping[str, Picture]) -> "Part":
        """Make a part of pictures for files, which is on no page."""
        return cls("", [], [*starmap(Drawing, pictures.items())])


class Finding(NamedTuple):
    """What an analysis shows."""

    title: str  # what was measured, of which run and dataset
    parts: Sequence[Part]
    lead: str = ""  # the answer in one sentence, on the page
    settings: Sequence[str] = ()  # signatures and options, on the page
    notes: Sequence[str] = ()  # what the figures mean and count, one line each
    cautions: Sequence[str] = ()  # why a figure or test is inexact or omitted, one line each
    terms: Sequence[tuple[str, str]] = ()  # glossary of the page: term and meaning
    links: Sequence[tuple[str, str]] = ()  # of the page: text and address

    @property
    def tables(self) -> list[Table]:
        """List the tables of all parts."""
        return [block for part in self.parts for block in part.blocks if isinstance(block, Table)]

    @property
    def pictures(self) -> dict[str, Picture]:
        """List the pictures of all parts by name, in the order of `--draw`."""
        return {x.name: x.picture for part in self.parts for x in part.pictures}
