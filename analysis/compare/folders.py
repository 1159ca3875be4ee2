"""Compare runs, whatever they are: two runs, two wordings, or several wordings side by side."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from polyprobe.analysis.figures.units import resolve_clusters
from polyprobe.schema.columns import key_rows
from polyprobe.schema.run.folder import Run
from polyprobe.system.messages import PolyprobeError

from .gate import Decision, decide
from .match import WORDINGS, find_versions, split_wording
from .options import ComparisonOptions
from .runs import Comparison, compare_runs
from .sentences.compare import VersionComparison, compare_versions


class PairOutcome(NamedTuple):
    """The comparison of two runs."""

    comparison: Comparison
    wording: VersionComparison | None = None  # if the runs are two wordings of a configuration
    verdicts: Sequence[Decision] = ()  # on the figures of --fail-if

    @property
    def failures(self) -> list[str]:
        """List the requested measures that failed."""
        return self.wording.failures if self.wording else []

    def as_json(self) -> dict[str, Any]:
        """List differences by figure, name or relation; `versions` is of two wordings."""
        versions = {"versions": self.wording.as_json()} if self.wording else {}
        gate = [verdict._asdict() for verdict in self.verdicts]
        return {**self.comparison.as_json(), **versions, "gate": gate}


class Several(NamedTuple):
    """Three or more wordings of one configuration beside their reference."""

    comparisons: list[VersionComparison]  # of each wording, less the reference
    settings: dict[str, Any]  # of the tests, and the signatures of the runs
    by_relation: bool = False  # the changes by relation were asked for

    @property
    def failures(self) -> list[str]:
        """List the requested measures that failed, each once."""
        return list(dict.fromkeys(line for x in self.comparisons for line in x.failures))

    @property
    def wordings(self) -> list[str]:
        """Name the wordings, the reference first."""
        pairs = [comparison.versions.wordings for comparison in self.comparisons]
        return [pairs[0][0], *(wording for _, wording in pairs)]

    def as_json(self) -> dict[str, Any]:
        """List the reference and, by wording, its comparison."""
        by_wording = {x.versions.wordings[1]: x.as_json() for x in self.comparisons}
        return {"reference": self.wordings[0], "settings": self.settings, "wordings": by_wording}


def compare_folders(runs: Sequence[Run], options: ComparisonOptions) -> PairOutcome | Several:
    """Compare two runs, with the effect of wording if they differ in wording, or more wordings."""
    if len(runs) > 2:
        return _compare_several(runs, options)
    (first, second), requests, keywords = runs, options.requests, options.keywords
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
    verdicts = decide(comparison, runs, options) if options.fail_if else []
    return PairOutcome(comparison, wording, verdicts)


def _compare_several(runs: Sequence[Run], options: ComparisonOptions) -> Several:
    """Compare each wording with the first of `WORDINGS`."""
    reference, *variants = _sort_runs(runs)
    pairs = [find_versions(variant, reference) for variant in variants]
    comparisons = [compare_versions(pair, options, **options.keywords) for pair in pairs if pair]
    languages = comparisons[0].languages
    # of other rows the reference would have another value in each comparison
    rows_of_reference = _list_rows(reference, languages)
    rows = {rows_of_reference & _list_rows(variant, languages) for variant in variants}
    if len({(x.n_queries, *x.languages) for x in comparisons}) > 1 or len(rows) > 1:
        counts = ", ".join(f"{x.n_queries:,}" for x in comparisons)
        raise PolyprobeError(
            f"the runs have different rows in common with {reference.folder}: {counts}; compare "
            "two at a time"
        )
    settings = {"signatures": [run.settings().signature for run in runs], **options.keywords}
    settings["clusters"] = resolve_clusters(reference.read(languages[0]), options.clusters)
    settings |= settings.pop("choice").as_json()
    return Several(comparisons, settings, options.by_relation)


def _sort_runs(runs: Sequence[Run]) -> list[Run]:
    """Sort runs as `WORDINGS`; refuse those that are not wordings of one configuration."""
    for run in runs:
        if run.settings().kind == "predictions":
            raise PolyprobeError(
                f"more than two runs are compared by rankings; {run.folder} holds free "
                "predictions: compare two at a time"
            )
    bases, wordings = zip(*map(split_wording, runs), strict=True)
    if len({*bases}) > 1 or len({*wordings}) < len(runs):
        names = ", ".join(run.settings().data_name for run in runs)
        ends = ", ".join(f"CONFIG{end}" for end in WORDINGS.values())
        raise PolyprobeError(
            f"more than two runs are compared as wordings of one configuration ({ends}, each also "
            f"with -wide); got {names}"
        )
    by_wording = dict(zip(wordings, runs, strict=True))
    return [by_wording[wording] for wording in WORDINGS if wording in by_wording]


def _list_rows(run: Run, languages: Sequence[str]) -> frozenset[tuple[str, str, int]]:
    ids = {language: run.read(language)["fact_id"].to_pylist() for language in languages}
    return frozenset((x, *key) for x, facts in ids.items() for key in key_rows(facts))
