"""The rows of a board: the figures of a model from results.json of one or several runs."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from polyprobe.analysis.figures.figures import BY_NAME, JOINT, LANGUAGE, OF_MODULES, PAIR, SEPARATE
from polyprobe.analysis.figures.results import (
    MEAN,
    find_highest_floor,
    is_above_floor,
    list_by_language,
    mean_known,
    read_results,
)
from polyprobe.schema.run.folder import Run, name_runs, split_signature
from polyprobe.schema.run.settings import Settings
from polyprobe.system.devices import without_collector
from polyprobe.system.messages import PolyprobeError

Bounds = list[float] | None
# The values of pairs fill memory, if many models are read.
_DESCRIBED = ("languages", "n_queries", "subset", "options", "signature", "left_out")


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


def read_models(folders: Sequence[Path]) -> list[ModelEntry]:
    """Read a row for each model, from one or several runs."""
    places = [folder.resolve() for folder in folders]
    for place, folder in zip(places[::-1], folders[::-1], strict=True):
        if places.count(place) > 1:
            raise PolyprobeError(f"{folder} was given twice; give each run once")
    runs = [Run(folder) for folder in folders]
    groups = group_runs(runs)
    # A copy has the seal of its original: it would count one run twice.
    originals: dict[str, Run] = {}
    for run in runs:
        if (original := originals.setdefault(run.seal or "", run)) is not run:
            raise PolyprobeError(f"{run.folder} is a copy of {original.folder}; give one of them")
    names = name_runs([group[0] for group in groups])
    with without_collector():
        return [_make_entry(name, group) for name, group in zip(names, groups, strict=True)]


def group_runs(runs: Sequence[Run]) -> list[list[Run]]:
    """Group the runs of each row, in the order of the first ones."""
    groups: list[list[Run]] = []
    for run in runs:
        group = next((group for group in groups if _continues(group, run)), [])
        if not group:
            groups.append(group)
        group.append(run)
    return groups


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
        results_json = read_results(run)
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
    for figure in (figure for figure in SEPARATE if figure.name in results["mean"]):
        name, with_languages = figure.name, figure.per in (LANGUAGE, PAIR)
        mean, interval = results["mean"][name], bounds.get("mean", {}).get(name)
        values = list_by_language(results, figure) if with_languages else {}
        halves, floor = _halve(bounds.get(name, {})), find_highest_floor(results, name)
        low = [x for x in (*values, MEAN) if is_above_floor(results, name, x) is False]
        yield name, Value(mean, interval, values, halves, *floor, low)
    for figure in (figure for figure in JOINT if figure.name in results):
        yield figure.name, Value(results[figure.name], results.get(f"{figure.name}_ci"))
    for module, figures in OF_MODULES.items():
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
    for name in (name for name in parts[0] if BY_NAME[name].per == LANGUAGE):
        values = [part[name] for part in parts if name in part]
        if len(values) == len(parts):
            languages = {x: y for value in values for x, y in value.languages.items()}
            halves = {x: half for value in values for x, half in value.halves.items()}
            values_by_name[name] = Value(mean_known(languages.values()), None, languages, halves)
    return values_by_name
