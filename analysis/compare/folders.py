"""Compare runs, whatever they are: two runs, two wordings, or several wordings side by side."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from polyprobe.metrics.joint.significance import Difference
from polyprobe.schema.run.folder import Run
from polyprobe.system.errors import PolyprobeError

from .runs import Comparison, compare_runs
from .sentences.compare import TextOptions, VersionComparison, compare_versions
from .sentences.several import Several, compare_several
from .sentences.texts import find_versions


class Row(NamedTuple):
    """A tested difference.

    Attributes:
        level: `name` (a language or a pair), `mean` or `relation`.
        figure: its name.
        weighting: `micro` beside other tables or results with macro averages, else "".
        difference: both values and the test.
    """

    level: str
    figure: str
    weighting: str
    difference: Difference


class Outcome(NamedTuple):
    """The comparison of two runs.

    Attributes:
        comparison: tests of all figures.
        wording: the effect of wording; None if the runs are not two wordings of one configuration.
    """

    comparison: Comparison
    wording: VersionComparison | None = None

    @property
    def failures(self) -> list[str]:
        """List the requested measures of wording that failed."""
        return self.wording.failures if self.wording else []

    @property
    def rows(self) -> Iterator[Row]:
        """Yield all tested differences: names and mean of each figure, then relations."""
        comparison = self.comparison
        for figure, rows in comparison.differences.items():
            macro = self.wording or (comparison.decodings and figure == "accuracy")
            for row in rows:
                level = "mean" if row.name == "mean" else "name"
                yield Row(level, figure, "micro" if macro else "", row)
        for figure, rows in comparison.by_relation.items():
            macro = self.wording or (comparison.decodings and figure == "accuracy")
            for row in rows:
                yield Row("relation", figure, "micro" if macro else "", row)

    def as_json(self) -> dict[str, Any]:
        """List differences by figure, name or relation; `versions` is of two wordings."""
        versions = {"versions": self.wording.as_json()} if self.wording else {}
        return {**self.comparison.as_json(), **versions}


def compare_folders(
    runs: Sequence[Run],
    texts: TextOptions,
    requests: Mapping[str, object],
    by_relation: bool = False,
    **options: Any,
) -> Outcome | Several:
    """Compare two runs, with the effect of wording if they differ in wording.

    Free predictions have no such effect: they are compared fact by fact. More than two runs are
    compared as wordings of one configuration. `requests` are the options, by name, that are refused
    for other runs; `options` are those of `compare_runs`.
    """
    if len(runs) > 2:
        return compare_several(runs, texts, by_relation, **options)
    first, second = runs
    free = "predictions" in (first.settings().kind, second.settings().kind)
    versions = None if free else find_versions(first, second)
    names = ", ".join(name for name, value in requests.items() if value)
    if names and not versions:
        configs = " and ".join(run.settings().data_name for run in runs)
        raise PolyprobeError(
            f"{names}: only for two wordings of a configuration; got {configs}, expected a "
            "configuration and the same one with -sentence or -chatgpt"
        )
    comparison = compare_runs(first, second, by_relation=by_relation, **options)
    return Outcome(comparison, compare_versions(versions, texts, **options) if versions else None)
