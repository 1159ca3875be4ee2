"""A board: sorted models, the figures that all of them have, trends over the models."""

from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import linregress, pearsonr, t

from polyprobe.analysis import comparable
from polyprobe.analysis.figures.figures import FIGURES, HEADLINE, RunFigure, find_figure
from polyprobe.analysis.figures.results import CENTRED
from polyprobe.metrics.joint.significance import correct
from polyprobe.schema.run.settings import Settings
from polyprobe.system.files import read_tsv
from polyprobe.system.messages import PolyprobeError, check_option, unknown

from .entries import ModelEntry, read_models

# Shown beside the headline figures if all runs have them.
OF_PROTOCOLS = ("contrastive_knowledge.accuracy", "paraphrase_consistency.consistency")
NAME, PARAMETERS = "name", "parameters"
LEAST = 3  # models: fewer give no interval
OF_VALUES = ("mean", "interval", "plus_minus", "languages", "floor", "floor_name")


class Slope(NamedTuple):
    """A regression on the number of doublings."""

    n: int  # models
    slope: float  # change of the figure per doubling of the parameters
    low: float  # 95% interval of the slope, by Student's t with n - 2 degrees of freedom
    high: float
    intercept: float  # value of the line at one parameter
    r: float | None  # Pearson's correlation; None if all values are equal
    p: float | None  # two-sided p-value of the slope


class FigureCorrelation(NamedTuple):
    """Pearson's r over n models, its 95% interval (Fisher's z) and two-sided p-value."""

    n: int
    r: float
    low: float
    high: float
    p: float  # uncorrected
    p_adjusted: float | None = None  # by Holm, over the columns


class Board(NamedTuple):
    """Rows and columns of a leaderboard."""

    entries: Sequence[ModelEntry]  # in the order of `sort`
    figures: Mapping[str, RunFigure]  # the figures that every entry has, by name in results.json
    columns: Sequence[str]  # names of the figures in short tables
    sort: str  # a figure, or `name` or `parameters`
    differing: Mapping[str, Sequence[str]]  # setting → its value in each entry; empty if comparable
    loading: Sequence[str]  # the settings of the model in which entries differ, one text for each

    @property
    def data(self) -> str:
        """Name the dataset and configuration, or several."""
        return ", ".join(dict.fromkeys(entry.settings.data_name for entry in self.entries))

    @property
    def shared(self) -> dict[str, str]:
        """List the settings that all entries share: scoring, facts, choice of rows, options."""
        return comparable.find_shared(*_read(self.entries))

    def describe(self, data: str = "") -> str:
        """Describe the data, by another name if one is given, and the shared settings."""
        settings = (f"{name} {value}" for name, value in self.shared.items())
        return "; ".join([data or self.data, *settings])

    @property
    def languages(self) -> list[str]:
        """List the languages of all entries."""
        return [*dict.fromkeys(x for entry in self.entries for x in entry.settings.languages)]

    def list_values(self, name: str) -> list[float | None]:
        """List the means of a figure, or the parameter counts."""
        if name == PARAMETERS:
            return [entry.parameters for entry in self.entries]
        return [entry.values[name].mean for entry in self.entries]

    def mark_best(self, name: str, language: str = "") -> list[bool]:
        """Mark the best of several entries with the same settings, as printed."""
        lower = self.figures[name].lower_is_better
        values = [x.values[name].languages.get(language) for x in self.entries]
        values = values if language else self.list_values(name)
        rounded = [None if x is None or lower is None else round(x, 3) for x in values]
        kinds = [*zip(*self.differing.values(), strict=True)] or [()] * len(values)
        groups: dict[tuple[str, ...], list[float]] = {}
        for kind, value in zip(kinds, rounded, strict=True):
            groups.setdefault(kind, []).extend([] if value is None else [value])
        best = {x: (min if lower else max)(group) for x, group in groups.items() if group[1:]}
        return [
            value is not None and best.get(kind) == value
            for kind, value in zip(kinds, rounded, strict=True)
        ]

    def fit_slope(self, name: str) -> Slope | None:
        """Fit the slope of a figure over the size of the model, see `fit_doublings`."""
        return fit_doublings(self.list_values(PARAMETERS), self.list_values(name))

    @property
    def correlations(self) -> dict[str, FigureCorrelation]:
        """Correlate each column with accuracy."""
        if "accuracy" not in self.figures:
            return {}
        accuracies = self.list_values("accuracy")
        names = [name for name in self.columns if name != "accuracy"]
        rows = {x: correlate_figures(self.list_values(x), accuracies) for x in names}
        defined = {name: row for name, row in rows.items() if row}
        p = correct(np.array([row.p for row in defined.values()]), "holm").tolist()
        pairs = zip(defined.items(), p, strict=True)
        return {name: row._replace(p_adjusted=value) for (name, row), value in pairs}

    def find_floor(self, name: str) -> float | None:
        """Find the highest floor of a figure in any entry."""
        floors = (entry.values[name].floor for entry in self.entries)
        return max((floor for floor in floors if floor is not None), default=None)

    def as_json(self) -> dict[str, Any]:
        """List all values: figures by language, trends, signatures of the runs."""
        slopes = {name: self.fit_slope(name) for name in self.figures}
        return {
            "data": self.data,
            "shared": self.shared,
            "sort": self.sort,
            "shown": [*self.columns],
            "differing": {name: [*values] for name, values in self.differing.items()},
            "models": [self._describe(entry) for entry in self.entries],
            "slopes": {name: slope._asdict() for name, slope in slopes.items() if slope},
            "correlations_with_accuracy": {x: y._asdict() for x, y in self.correlations.items()},
        }

    def _describe(self, entry: ModelEntry) -> dict[str, Any]:
        return {
            "name": entry.name,
            "model": entry.full_name,
            "parameters": entry.parameters,
            "languages": entry.settings.languages,
            "signatures": [results["signature"] for results in entry.results],
            "figures": {
                name: {key: getattr(value, key) for key in OF_VALUES}
                for name, value in entry.values.items()
                if name in self.figures
            },
        }


def make_board(
    folders: Sequence[Path],
    sort: str | None = None,
    figures: Sequence[str] = (),
    parameters: Path | None = None,
    despite: bool = False,
) -> Board:
    """Make the board of run folders, from run.json and results.json.

    `sort` is a figure, best first, `name`, or `parameters`, fewest first (default: the first column
    of `figures`, else centred RankC if the runs have it, else the first column); `figures` are the
    columns of short tables (default: the headline figures that all runs have). With `despite`, runs
    that are not comparable are accepted, and their differences listed.
    """
    entries = read_models(folders)
    if not despite:  # before anything else: other errors would hide the reason
        differing = comparable.find_differing(*_read(entries))
        comparable.refuse_differing([entry.name for entry in entries], differing)
    common = _list_figures(entries)
    for name in figures:
        check_option("--figures", name, common)
    default = [x for x in (*(figure.name for figure in HEADLINE), *OF_PROTOCOLS) if x in common]
    headline = [CENTRED] if CENTRED in common else default
    sort = sort or (figures or headline or [*common])[0]
    check_option("--sort", sort, [*common, NAME, PARAMETERS])
    columns = [*dict.fromkeys([*(figures or default), *([sort] if sort in common else [])])]
    entries = _sort(_add_parameters(entries, parameters), sort, common)
    loading = comparable.list_loading([entry.settings for entry in entries])
    differing = comparable.find_differing(*_read(entries))
    return Board(entries, common, columns, sort, differing, loading)


def _read(
    entries: Sequence[ModelEntry],
) -> tuple[list[Settings], list[Sequence[Mapping[str, Any]]]]:
    return [entry.settings for entry in entries], [entry.results for entry in entries]


def _list_figures(entries: Sequence[ModelEntry]) -> dict[str, RunFigure]:
    """List the figures that every entry has, with a value in at least one."""
    common = {
        name
        for name in set.intersection(*({*entry.values} for entry in entries))
        if any(entry.values[name].mean is not None for entry in entries)
    }
    kinds = {entry.settings.kind for entry in entries}
    figures = {figure.name: figure for figure in FIGURES if figure.name in common}
    # of free predictions both keys have X-FACTR's accuracy
    if kinds == {"predictions"} and "accuracy" in figures:
        figures["accuracy"] = find_figure("accuracy", "predictions")
        figures.pop("factual_accuracy.all", None)
    if not figures:
        raise PolyprobeError(
            "the runs have no figure in common; run `polyprobe metrics` on each, with the same "
            "--figures or without"
        )
    return figures


def _sort(
    entries: Sequence[ModelEntry], by: str, figures: Mapping[str, RunFigure]
) -> list[ModelEntry]:
    if by == NAME:
        return sorted(entries, key=lambda entry: entry.name.casefold())
    falling = by != PARAMETERS and not figures[by].lower_is_better

    def place(entry: ModelEntry) -> tuple[bool, float]:
        value = entry.parameters if by == PARAMETERS else entry.values[by].mean
        return value is None, 0 if value is None else -value if falling else value

    return sorted(entries, key=place)


def _add_parameters(entries: Sequence[ModelEntry], file: Path | None) -> list[ModelEntry]:
    """Add the parameter counts of a file, which override run.json."""
    counts = read_parameters(file) if file else {}
    names = [(x.name, x.settings.model_name, x.settings.model) for x in entries]
    for name in counts:
        if not any(name in of_entry for of_entry in names):
            raise unknown("model", name, str(file), [entry.name for entry in entries])
    overrides = (next((counts[x] for x in of_entry if x in counts), None) for of_entry in names)
    return [
        entry if count is None else entry._replace(parameters=count)
        for entry, count in zip(entries, overrides, strict=True)
    ]


def read_parameters(file: Path) -> dict[str, float]:
    """Read the parameter counts by model, from lines of a name, a tab and a number."""
    counts: dict[str, float] = {}
    for number, cells in read_tsv(file, "--parameters"):
        if number == 1 and cells[1:] == [PARAMETERS]:
            continue  # a heading
        name, value = cells if len(cells) == 2 else ("", "")
        try:
            count = float(value)
        except ValueError:
            count = 0.0
        if not name or not isfinite(count) or count <= 0:
            raise PolyprobeError(
                f"{file}, line {number}: expected a model, a tab and its number of parameters, "
                "such as bloom-560m and 559214592"
            )
        if name in counts:
            raise PolyprobeError(f"{file}, line {number}: {name} occurs twice")
        counts[name] = count
    return counts


def fit_doublings(
    parameters: Sequence[float | None], values: Sequence[float | None]
) -> Slope | None:
    """Fit the least-squares line of values on log2 of the parameters (Qi et al. 2023, figure 4).

    None for fewer than three models with both, or if all have the same size.
    """
    sizes, figures = _pair(parameters, values)
    if len(sizes) < LEAST or np.ptp(sizes) == 0:
        return None
    line, constant = linregress(np.log2(sizes), figures), bool(np.ptp(figures) == 0)
    # equal values lie on the line: rounding would give a correlation
    half = 0.0 if constant else float(t.ppf(0.975, len(sizes) - 2) * line.stderr)
    slope, intercept = float(line.slope), float(line.intercept)
    r, p = (None, None) if constant else (float(line.rvalue), float(line.pvalue))
    return Slope(len(sizes), slope, slope - half, slope + half, intercept, r, p)


def correlate_figures(
    xs: Sequence[float | None], ys: Sequence[float | None]
) -> FigureCorrelation | None:
    """Compute Pearson's r of two figures over the models that have both.

    None for fewer than three models, or if all values of a figure are equal.
    """
    first, second = _pair(xs, ys)
    if len(first) < LEAST or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    result = pearsonr(first, second)
    low, high = result.confidence_interval(0.95)
    return FigureCorrelation(len(first), *map(float, (result.statistic, low, high, result.pvalue)))


def _pair(xs: Sequence[float | None], ys: Sequence[float | None]) -> tuple[np.ndarray, np.ndarray]:
    pairs = [(x, y) for x, y in zip(xs, ys, strict=True) if x is not None and y is not None]
    first, second = np.array(pairs, dtype=float).reshape(-1, 2).T
    return first, second
