"""A board as a finding: a row for each model, trends over the models, pictures."""

import re
from collections.abc import Sequence
from pathlib import Path

from polyprobe.analysis.board.board import PARAMETERS, Board
from polyprobe.analysis.figures.results import MEAN, explain_missing
from polyprobe.metrics.pictures.picture import Bars, Point, Points, Series
from polyprobe.report.finding import Cell, Column, Drawing, Estimate, Finding, Part, Role, Table
from polyprobe.report.findings.run import NOT_ABOVE
from polyprobe.report.show import NO_WIDTH, WIDE, has_no_width, to_csv, to_latex, to_markdown
from polyprobe.system.files import read_toml

_LINES = read_toml(__package__, "terms.toml")["board"]
PLUS_MINUS = _LINES["plus_minus"]
ACROSS = 17  # languages side by side in LaTeX
HUB = "https://huggingface.co/"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)  # of an owner and a thing


def make_board_finding(board: Board) -> Finding:
    """Make the finding of a board; the page has all figures, and a table of each by language."""
    n, languages = len(board.entries), len(board.languages)
    figures = [*board.columns, *(name for name in board.figures if name not in board.columns)]
    parts = [Part("Models", [list_models(board, figures)])]
    parts += [part for part in _draw(board) if part.pictures]
    if (trends := list_trends(board)).rows:
        parts.append(Part("Trends over all models", [trends]))
    if tables := [table for name in figures if (table := _list_languages(board, name))]:
        parts.append(Part("Figures by language", tables))
    title = f"{n} {'model' if n == 1 else 'models'} on {board.data}"
    differing = ", ".join(board.differing)
    datasets = dict.fromkeys(entry.settings.dataset for entry in board.entries)
    data = [x for x in datasets if _NAME.fullmatch(x) and not Path(x).exists()]  # on the Hub
    return Finding(
        title,
        parts,
        f"{title}, {languages} {'language' if languages == 1 else 'languages'}. Means are "
        "unweighted, over languages or pairs of languages.",
        settings=[
            f"{x.name}: {results['signature']}" for x in board.entries for results in x.results
        ],
        notes=_list_notes(board),
        cautions=[f"not comparable: the runs differ in {differing}"] if differing else [],
        terms=[
            *((figure.title, figure.definition) for figure in board.figures.values()),
            ("±", f"{PLUS_MINUS.partition(';')[0].removeprefix('±: ').capitalize()}."),
            ("slope per doubling", _LINES["slope"]),
            ("figure by language", "Of a figure of pairs, a language has the mean of its pairs."),
        ],
        links=[(name, f"{HUB}datasets/{name}") for name in data],
    )


def list_models(board: Board, figures: Sequence[str], with_titles: bool = False) -> Table:
    """List the models with figures, those that are no columns on the page and in CSV only."""
    full_name = Column("full name", Role.LABEL, "full_name", width=None)
    columns = [Column("model", Role.LABEL), full_name]
    for name in figures:
        figure, width = board.figures[name], 0 if name in board.columns else None
        options = (name, width, figure.highest == 1.0, figure.definition)
        head = figure.title if with_titles else figure.heading
        columns.append(Column(head, Role.ESTIMATE, *options))
    # a column of equal numbers takes the room of a figure
    counts = {len(entry.settings.languages) for entry in board.entries}
    width = None if len(counts) == 1 else 0
    size = Column("size", Role.SIZE, PARAMETERS)
    columns += [size, Column("lang.", Role.COUNT, "languages", width)]
    columns += [Column(name, Role.TEXT, width=WIDE) for name in board.differing]
    rows, marks = [], {name: board.mark_best(name) for name in figures}
    for place, entry in enumerate(board.entries):
        settings = entry.settings
        is_commit = re.fullmatch(r"[0-9a-f]{40}", settings.revision)  # it was loaded from the Hub
        link = f"{HUB}{settings.model}" if is_commit and _NAME.fullmatch(settings.model) else ""
        row: list[object] = [Cell(entry.name, link=link), entry.full_name]
        for name, x in ((name, entry.values[name]) for name in figures):
            estimate = Estimate(x.mean, x.interval, x.plus_minus)
            row.append(Cell(estimate, None, marks[name][place], MEAN in x.low))
        row += [entry.parameters, len(settings.languages)]
        rows.append(row + [values[place] for values in board.differing.values()])
    floors = [board.find_floor(name) for name in figures]
    if any(floor is not None for floor in floors):
        blank = [None] * (2 + len(board.differing))
        rows.append(["floor", None, *map(Estimate, floors), *blank])
    return Table(columns, rows, dense=True, sections=[len(board.entries)])


def list_trends(board: Board) -> Table:
    """List the trends of the columns' figures."""
    slopes = ((board.figures[name].title, board.fit_slope(name)) for name in board.columns)
    rows = [[title, x.slope, [x.low, x.high], x.r, x.n] for title, x in slopes if x]
    return Table(Column.read("trends"), rows)


def _list_languages(board: Board, name: str, languages: Sequence[str] = ()) -> Table | None:
    """List a figure of each model by language (default: all), on the page and in LaTeX."""
    values = [entry.values[name] for entry in board.entries]
    if not any(x.languages for x in values):
        return None
    figure = board.figures[name]
    languages, percent = languages or board.languages, figure.highest == 1.0
    head = [Column("model", Role.LABEL), Column("mean", percent=percent)]
    columns = [*head, *(Column(x, percent=percent) for x in languages)]
    best = {x: board.mark_best(name, x) for x in languages}
    rows = []
    for i, (entry, value) in enumerate(zip(board.entries, values, strict=True)):
        cells = (Cell(value.languages.get(x), None, best[x][i], x in value.low) for x in languages)
        rows.append([entry.name, value.mean, *cells])
    return Table(columns, rows, figure.heading, limit=0, folded=figure.title)


def _explain_marks(board: Board) -> list[str]:
    """Explain the marks of the table of the models, one line for each kind that it has."""
    names = board.columns
    best = any(any(board.mark_best(name)) for name in names)
    same = " of runs with the same settings" if board.differing else ""
    means = [entry.values[name] for entry in board.entries for name in names]
    marks = [f"bold: best{same}"] * best + [f"†: {NOT_ABOVE}"] * any(MEAN in x.low for x in means)
    return marks + [NO_WIDTH] * any(has_no_width(x.interval) for x in means)


def _list_notes(board: Board) -> list[str]:
    notes = [f"{board.describe()}; sorted by {board.sort}", PLUS_MINUS]
    if any(board.find_floor(name) is not None for name in board.columns):
        notes.append("floor: the highest of any model's run, of a ranking without knowledge")
    notes += _explain_marks(board)
    for entry in board.entries:
        means = {name: value.mean for name, value in entry.values.items()}
        if line := explain_missing({**entry.results[0], "mean": means}):
            notes.append(f"{entry.name}: {line}")
    for place, entry in enumerate(board.entries if board.differing else ()):
        settings = (f"{name} {values[place]}" for name, values in board.differing.items())
        notes.append(f"{entry.name}: {'; '.join(settings)}")
    return [*notes, *(f"the runs also differ in {line}" for line in board.loading)]


def write_models(board: Board, ending: str, data: str = "") -> str:
    """Write the table of the models in the format of a file's ending; CSV has all figures."""
    if ending == ".csv":
        return to_csv(list_models(board, [*board.figures]))
    if ending == ".md":
        return to_markdown(list_models(board, board.columns))
    tables, below = [list_models(board, board.columns, with_titles=True)], ""
    if "accuracy" in board.figures and len(board.languages) > 1:
        below = "; below, accuracy by language"
        parts = (board.languages[i : i + ACROSS] for i in range(0, len(board.languages), ACROSS))
        tables += filter(None, (_list_languages(board, "accuracy", part) for part in parts))
    about = f"with 95% intervals, shares in percent, on {board.describe(data)}{below}."
    caption = f"Means over languages and pairs {about}"
    marks = "; ".join(_explain_marks(board))
    return to_latex(tables, f"{caption} {marks[:1].upper()}{marks[1:]}." if marks else caption)


def _draw(board: Board) -> list[Part]:
    """Draw `FIGURE-size` of each column, bars as `FIGURE`, and `FIGURE-accuracy`."""
    by_size, by_accuracy, bars = list[Drawing](), list[Drawing](), list[Drawing]()
    # as figure 4 of Qi et al. 2023, if a parameter count is known
    has_sizes = any(count is not None for count in board.list_values(PARAMETERS))
    has_accuracy = "accuracy" in board.figures and len(board.entries) > 1
    for name in board.columns:
        title, labels = board.figures[name].title, [entry.name for entry in board.entries]
        choice = {"figure": title}
        if has_sizes:
            by_size.append(Drawing(f"{name}-size", _draw_sizes(board, name), choice))
        bounds = [entry.values[name].interval for entry in board.entries]
        series = Series(title, board.list_values(name), bounds)
        bars.append(
            Drawing(name, Bars(f"{title} on {board.data}", labels, [series], title), choice)
        )
        if has_accuracy and name != "accuracy":
            accuracy = board.figures["accuracy"].title
            of_models = _list_points(board, "accuracy", name)
            points = Points(f"{title} and {accuracy}", of_models, accuracy, title)
            by_accuracy.append(Drawing(f"{name}-accuracy", points, choice))
    return [
        Part("Figure by size", [], by_size),
        Part("Figure by model", [], bars),
        Part("Figure and accuracy", [], by_accuracy),
    ]


def _draw_sizes(board: Board, name: str) -> Points:
    """Draw a figure by the number of parameters, with its slope."""
    title, line, slope = board.figures[name].title, None, board.fit_slope(name)
    heading = title
    if slope:
        ends = f"{slope.low:+z.4f} to {slope.high:+z.4f}"
        heading += f": {slope.slope:+z.4f} per doubling ({ends}), {slope.n} models"
        line = (slope.slope, slope.intercept)
    return Points(heading, _list_points(board, PARAMETERS, name), PARAMETERS, title, line, True)


def _list_points(board: Board, x: str, y: str) -> list[Point]:
    points = []
    values = zip(board.entries, board.list_values(x), board.list_values(y), strict=True)
    for entry, across, up in values:
        if across is not None and up is not None:
            bounds = (entry.values[name].interval or () if name in entry.values else ()
                      for name in (x, y))  # fmt: skip
            points.append(Point(entry.name, across, up, "", *bounds))
    return points
