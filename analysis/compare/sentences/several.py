"""Compare three or more wordings of one configuration with the first one, side by side."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from polyprobe.analysis.compare.options import NO_OPTIONS, WordingOptions
from polyprobe.analysis.figures.units import resolve_clusters
from polyprobe.schema.identity import key_rows
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.rows import ALL_ROWS
from polyprobe.system.errors import PolyprobeError

from .compare import VersionComparison, compare_versions
from .texts import WORDINGS, find_versions, split_wording


class Several(NamedTuple):
    """Wordings beside their reference."""

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
        reference, *wordings = self.wordings
        values = (comparison.as_json() for comparison in self.comparisons)
        by_wording = dict(zip(wordings, values, strict=True))
        return {"reference": reference, "settings": self.settings, "wordings": by_wording}


def compare_several(
    runs: Sequence[Run],
    options: WordingOptions = NO_OPTIONS,
    by_relation: bool = False,
    **test: Any,
) -> Several:
    """Compare each wording with the first of `WORDINGS`; keywords are of `compare_versions`."""
    reference, *variants = _sort_runs(runs)
    pairs = [find_versions(variant, reference) for variant in variants]
    comparisons = [compare_versions(pair, options, **test) for pair in pairs if pair]
    languages = comparisons[0].languages
    # of other rows the reference would have another value in each comparison
    rows = set()
    for variant in variants:
        pair = (_list_rows(reference, languages), _list_rows(variant, languages))
        rows.add(frozenset.intersection(*pair))
    if len({(x.n_queries, *x.languages) for x in comparisons}) > 1 or len(rows) > 1:
        raise PolyprobeError(
            "the runs have different rows in common with "
            f"{reference.folder}: {', '.join(f'{x.n_queries:,}' for x in comparisons)}; compare "
            "two at a time"
        )
    choice = test.pop("choice", ALL_ROWS)
    clusters = resolve_clusters(reference.read(languages[0]), test.get("clusters", "auto"))
    settings = {
        "signatures": [run.settings().signature for run in runs],
        "correction": "holm",
        **test,
        "clusters": clusters,
        **choice.as_json(),
    }
    return Several(comparisons, settings, by_relation)


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
    """List language, fact and number of each row."""
    ids = {language: run.read(language)["fact_id"].to_pylist() for language in languages}
    return frozenset((x, *key) for x, facts in ids.items() for key in key_rows(facts))
