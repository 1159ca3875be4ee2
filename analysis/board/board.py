"""A board: models from run folders, the figures that all of them have, trends over the models."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import linregress, t

from polyprobe.analysis import comparable
from polyprobe.analysis.figures import figures as catalogue
from polyprobe.analysis.figures import results as reader
from polyprobe.analysis.figures.figures import HEADLINE, RunFigure, find_figure
from polyprobe.analysis.figures.results import CENTRED, MEAN, mean_known
from polyprobe.schema.run.folder import Run, name_runs, split_signature
from polyprobe.schema.run.settings import Settings
from polyprobe.system.devices import without_collector
from polyprobe.system.messages import PolyprobeError, check_option

# Shown beside the headline figures if all runs have them.
OF_PROTOCOLS = ("contrastive_knowledge.accuracy", "paraphrase_consistency.consistency")
NAME, PARAMETERS = "name", "parameters"
LEAST = 3  # models: fewer give no interval
Bounds = list[float] | None
Numbers = Sequence[float | None]
# The values of pairs fill memory, if many models are read.
_DESCRIBED = ("languages", "n_queries", "subset", "options", "signature", "left_out")
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


class Value(NamedTuple):
    """A figure of a model."""

    mean: float | None  # unweighted mean over languages or pairs; None: undefined
    interval: Bounds = None  # 95% interval of the mean, [low, high]; None: unknown
    languages: Mapping[str, float | None] = {}  # of a figure of pairs, means of a language's pairs
    halves: Mapping[str, float] = {}  # half the width of each language's or pair's interval
    floor: float | None = None  # the highest, which the interval should exceed
    floor_name: str = ""
    low: Collection[str] = ()  # languages, and MEAN, that are not above it (`is_above_floor`)

    @property
    def plus_minus(self) -> float | None:
        """Average `halves`, as in table 2 of Polyglot or Not (Schott et al. 2023)."""
        return fmean(self.halves.values()) if self.halves else None


class ModelEntry(NamedTuple):
    """A row of a board: a model and its figures from one or several runs."""

    name: str  # unique short name, see `name_runs`
    folders: Sequence[Path]
    settings: Settings  # of the first run, with configurations, languages, fingerprints of all
    results: Sequence[Mapping[str, Any]]  # results.json of each run, without the values of pairs
    values: Mapping[str, Value]  # by figure
    parameters: float | None  # parameter count of the model; None: unknown

    @property
    def full_name(self) -> str:
        """Name the model: a name on the Hub, or the last part of a path on this machine."""
        model = Path(self.settings.model)
        return model.name if model.is_absolute() else self.settings.model


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
    entries = _sort(entries, sort, common)
    loading = comparable.list_loading([entry.settings for entry in entries])
    differing = comparable.find_differing(*_read(entries))
    return Board(entries, common, columns, sort, differing, loading)


def _read(entries: Sequence[ModelEntry]) -> tuple[list[Settings], comparable.RunResults]:
    return [entry.settings for entry in entries], [entry.results for entry in entries]


def _list_figures(entries: Sequence[ModelEntry]) -> dict[str, RunFigure]:
    """List the figures that every entry has, with a value in at least one."""
    common = {
        name
        for name in set.intersection(*({*entry.values} for entry in entries))
        if any(entry.values[name].mean is not None for entry in entries)
    }
    kinds = {entry.settings.kind for entry in entries}
    figures = {figure.name: figure for figure in catalogue.FIGURES if figure.name in common}
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


def fit_doublings(parameters: Numbers, values: Numbers) -> Slope | None:
    """Fit the least-squares line of values on log2 of the parameters (Qi et al. 2023, figure 4).

    None for fewer than three models with both, or if all have the same size.
    """
    pairs = [x for x in zip(parameters, values, strict=True) if None not in x]
    sizes, figures = np.array(pairs, dtype=float).reshape(-1, 2).T
    if len(sizes) < LEAST or np.ptp(sizes) == 0:
        return None
    line, constant = linregress(np.log2(sizes), figures), bool(np.ptp(figures) == 0)
    # equal values lie on the line: rounding would give a correlation
    half = 0.0 if constant else float(t.ppf(0.975, len(sizes) - 2) * line.stderr)
    slope, intercept = float(line.slope), float(line.intercept)
    r, p = (None, None) if constant else (float(line.rvalue), float(line.pvalue))
    return Slope(len(sizes), slope, slope - half, slope + half, intercept, r, p)


def read_models(folders: Sequence[Path]) -> list[ModelEntry]:
    """Read a row for each model, from one or several runs."""
    places = [folder.resolve() for folder in folders]
    for place, folder in zip(places[::-1], folders[::-1], strict=True):
        if places.count(place) > 1:
            raise PolyprobeError(f"{folder} was given twice; give each run once")
    runs = [Run(folder) for folder in folders]
    groups: list[list[Run]] = []  # the runs of each row, in the order of the first ones
    for run in runs:
        group = next((group for group in groups if _continues(group, run)), [])
        if not group:
            groups.append(group)
        group.append(run)
    # A copy has the seal of its original: it would count one run twice.
    originals: dict[str, Run] = {}
    for run in runs:
        if (original := originals.setdefault(run.seal or "", run)) is not run:
            raise PolyprobeError(f"{run.folder} is a copy of {original.folder}; give one of them")
    names = name_runs([group[0] for group in groups])
    with without_collector():
        return [_make_entry(name, group) for name, group in zip(names, groups, strict=True)]


def _continues(group: Sequence[Run], run: Run) -> bool:
    """Tell whether a run adds languages to runs of the same model, dataset and protocol."""
    parts, new = [part.settings() for part in group], run.settings()
    common = any({*part.languages} & {*new.languages} for part in parts)
    if common or _identify(parts[0]) != _identify(new):
        return False
    # Many datasets have a configuration for each language.
    single = all(len(part.languages) == 1 for part in (*parts, new))
    return single or all(part.config == new.config for part in parts)


def _identify(settings: Settings) -> tuple[str, dict[str, str]]:
    """Identify the model, the dataset and the protocol of a run."""
    parts = split_signature(settings.signature)
    return settings.dataset, {k: x for k, x in parts.items() if k not in ("data", "languages")}


def _make_entry(name: str, runs: Sequence[Run]) -> ModelEntry:
    results, values = [], []
    for run in runs:
        results_json = reader.read_results(run)
        values.append(dict(_read_values(results_json)))
        results.append({key: results_json[key] for key in _DESCRIBED if key in results_json})
    settings = [run.settings() for run in runs]
    joint = replace(
        settings[0],
        config="+".join(sorted({part.config or "default" for part in settings})),
        languages=[x for part in settings for x in part.languages],
        fingerprint={x: y for part in settings for x, y in part.fingerprint.items()},
    )
    folders, figures = [run.folder for run in runs], values[0] if len(runs) == 1 else _join(values)
    return ModelEntry(name, folders, joint, results, figures, joint.parameters)


def _read_values(results: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    bounds = results.get("intervals", {})
    for figure in (figure for figure in catalogue.SEPARATE if figure.name in results["mean"]):
        name, with_languages = figure.name, figure.per in (catalogue.LANGUAGE, catalogue.PAIR)
        mean, interval = results["mean"][name], bounds.get("mean", {}).get(name)
        values = reader.list_by_language(results, figure) if with_languages else {}
        halves, floor = _halve(bounds.get(name, {})), reader.find_highest_floor(results, name)
        low = [x for x in (*values, MEAN) if reader.is_above_floor(results, name, x) is False]
        yield name, Value(mean, interval, values, halves, *floor, low)
    for figure in (figure for figure in catalogue.JOINT if figure.name in results):
        yield figure.name, Value(results[figure.name], results.get(f"{figure.name}_ci"))
    for module, figures in catalogue.OF_MODULES.items():
        by_language = results.get(module, {})
        for key, figure in figures.items():
            values = {x: of_x[key] for x, of_x in by_language.items() if key in of_x}
            if values:
                ends = {x: of_x.get(f"{key}_ci") for x, of_x in by_language.items()}
                yield figure.name, Value(mean_known(values.values()), None, values, _halve(ends))


def _halve(bounds: Mapping[str, Bounds]) -> dict[str, float]:
    return {name: (ends[1] - ends[0]) / 2 for name, ends in bounds.items() if ends}


def _join(parts: Sequence[Mapping[str, Value]]) -> dict[str, Value]:
    """Join the figures of languages that all runs of a row have."""
    values_by_name = {}  # no interval of a mean: runs are not resampled together
    for name in (name for name in parts[0] if catalogue.BY_NAME[name].per == catalogue.LANGUAGE):
        values = [part[name] for part in parts if name in part]
        if len(values) == len(parts):
            languages = {x: y for value in values for x, y in value.languages.items()}
            halves = {x: half for value in values for x, half in value.halves.items()}
            values_by_name[name] = Value(mean_known(languages.values()), None, languages, halves)
    return values_by_name
