"""Compare runs, whatever they are: two runs, two wordings, or several wordings side by side."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from polyprobe.metrics.joint.significance import Difference
from polyprobe.schema.run.folder import Run
from polyprobe.system.errors import PolyprobeError

from .options import ComparisonOptions
from .runs import Comparison, compare_runs
from .sentences.compare import VersionComparison, compare_versions
from .sentences.several import Several, compare_several
from .sentences.texts import find_versions


class DifferenceRow(NamedTuple):
    """A tested difference."""

    level: str  # `name` (a language or a pair), `mean` or `relation`
    figure: str
    weighting: str  # `micro` beside other tables or results with macro averages, else ""
    difference: Difference


class PairOutcome(NamedTuple):
    """The comparison of two runs."""

    comparison: Comparison
    wording: VersionComparison | None = None  # if the runs are two wordings of a configuration

    @property
    def failures(self) -> list[str]:
        """List the requested measures that failed."""
        return self.wording.failures if self.wording else []

    @property
    def rows(self) -> Iterator[DifferenceRow]:
        """Yield all tested differences: names and mean of each figure, then relations."""
        for figure, rows in self.comparison.differences.items():
            for row in rows:
                yield self._make_row("mean" if row.name == "mean" else "name", figure, row)
        for figure, rows in self.comparison.by_relation.items():
            for row in rows:
                yield self._make_row("relation", figure, row)

    def _make_row(self, level: str, figure: str, difference: Difference) -> DifferenceRow:
        """Add the weighting, where the same figure has a macro average beside it."""
        macro = self.wording or (self.comparison.decodings and figure == "accuracy")
        return DifferenceRow(level, figure, "micro" if macro else "", difference)

    def as_json(self) -> dict[str, Any]:
        """List differences by figure, name or relation; `versions` is of two wordings."""
        versions = {"versions": self.wording.as_json()} if self.wording else {}
        return {**self.comparison.as_json(), **versions}


def compare_folders(runs: Sequence[Run], options: ComparisonOptions) -> PairOutcome | Several:
    """Compare two runs, with the effect of wording if they differ in wording, or more wordings."""
    requests, keywords = options.requests, options.keywords
    if len(runs) > 2:
        return compare_several(runs, options, options.by_relation, **keywords)
    first, second = runs
    configs = [run.settings().data_name for run in runs]
    free = "predictions" in [run.settings().kind for run in runs]
    # free predictions have no ranks: they are compared fact by fact
    versions = None if free else find_versions(first, second)
    if requests and not versions:
        raise PolyprobeError(
            f"{', '.join(requests)}: only for two wordings of a configuration; got "
            f"{' and '.join(configs)}, expected a configuration and the same one with -sentence "
            "or -chatgpt"
        )
    comparison = compare_runs(first, second, by_relation=options.by_relation, **keywords)
    wording = compare_versions(versions, options, **keywords) if versions else None
    return PairOutcome(comparison, wording)
