"""Options of the figures of a run: of candidates' scores, and of free predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from polyprobe.schema.languages import split_list
from polyprobe.system.messages import PolyprobeError, check_option
from polyprobe.system.options import Options, collect_options, option

EVERY = "default"  # in `figures`: those of every run
_figures = partial(option, panel="Figures")
_fillings = partial(option, panel="Free decoding (--scoring xfactr)")


def _check_value(flag: str, value: str) -> None:
    from polyprobe.metrics.shared import intervals, ranks, rows

    values = {"--average": intervals.AVERAGES, "--weights": [*ranks.WEIGHTS], "--ties": rows.TIES}
    check_option(flag, value, values[flag])


@dataclass(frozen=True)
class CommonOptions(Options):
    """Options of the figures of every run."""

    average: str = _figures(
        "macro",
        "Average in metric modules: macro (over relations) or micro (over rows).",
        check=partial(_check_value, "--average"),
    )
    popularity: bool = _figures(
        False,
        "Also report the accuracy of each fifth of the facts, by the dataset's column popularity.",
    )


@dataclass(frozen=True)
class RankingOptions(Options):
    """Options of the figures of candidates' scores."""

    # Qi et al. 2023, equations 5, 11 and 12; chance, floors, adjusted and corrected values follow.
    weights: str = _figures(
        "softmax",
        "Weights of the ranks in RankC: softmax, norm1, norm2 (the paper's), norm1-released, "
        "norm2-released (the authors' program).",
        check=partial(_check_value, "--weights"),
    )
    # Rank-biased overlap and tau-b stay as they are with released ties.
    ties: str = _figures(
        "expected",
        "Equal scores: expected (over all orders) or released (the earlier candidate first, as in "
        "the authors' programs).",
        check=partial(_check_value, "--ties"),
    )
    repeated_subjects: str = _figures(
        "id",
        "Exclude subjects with several objects from consistency: by id, by label up to the first "
        "hyphen (released code of mParaRel), or none (keep).",
        choices=("id", "label", "keep"),
    )
    templates: str = _figures(
        "all", "Templates that consistency counts: all or reviewed.", choices=("all", "reviewed")
    )
    figures: Sequence[str] | None = _figures(
        None,
        "Figures to report, comma-separated: names of figures or modules, or default (the figures "
        "of every run).",
        parse=split_list,
        metavar="<str>",
    )
    by_template: bool = option(
        False,
        "Also report the accuracy of each template, and the shares of the inconsistency due to "
        "languages and to templates.",
    )


@dataclass(frozen=True)
class FillingOptions(Options):
    """Options of the figures of free predictions: which of their fillings win."""

    length_norm: bool | None = _fillings(
        None,
        "Compare numbers of masks by the mean or by the sum of the log-probabilities (default: as "
        "in the run).",
    )
    max_masks: int | None = _fillings(
        None, "Maximum number of masks (default: as in the run).", minimum=1
    )


@dataclass(frozen=True)
class MetricOptions(FillingOptions, RankingOptions, CommonOptions):
    """Options of the figures of a run; with the defaults results.json is that of a new run."""

    @classmethod
    def read(cls, results: Mapping[str, Any]) -> "MetricOptions":
        """Read the options that results.json was computed with."""
        return cls(**results.get("options", {}))

    def as_json(self) -> dict[str, Any]:
        """Make `options` of results.json: those that are not the default."""
        changes = _list_changes(self, MetricOptions)
        return {name: [*x] if name == "figures" else x for name, x in changes.items()}

    @property
    def of_pairs(self) -> tuple[Any, ...]:
        """List what the figures that `compare` tests depend on."""
        return self.weights, self.ties, self.length_norm, self.max_masks

    def check_kind(self, kind: str, folder: object) -> None:
        """Refuse options of rankings for a run of free predictions, and the other way round."""
        group: type[Options] = RankingOptions
        runs, content = "that score candidates", "holds free predictions"
        if kind == "scores":
            group = FillingOptions
            runs, content = "with --scoring xfactr", "has scores of candidates"
        for name in _list_changes(self, group):
            flag = collect_options(group)[name].flag
            raise PolyprobeError(f"{flag} is for runs {runs}; {folder} {content}: leave it out")


def _list_changes(options: Options, group: type[Options]) -> dict[str, Any]:
    """List the values of a group that are not the default."""
    values = {part.name: (getattr(options, part.name), part.default) for part in fields(group)}
    return {name: value for name, (value, default) in values.items() if value != default}


def describe_options(results: Mapping[str, Any]) -> str:
    """Describe the options of results.json; empty for the default ones.

    >>> describe_options({"options": {"weights": "norm1", "figures": ["rankc", "accuracy"]}})
    'weights norm1; figures rankc, accuracy'
    """
    return "; ".join(
        name if x is True else f"{name} {', '.join(x) if isinstance(x, list) else x}"
        for name, x in results.get("options", {}).items()
    )
