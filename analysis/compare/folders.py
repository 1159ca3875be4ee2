"""Compare runs, whatever they are: two runs, two wordings, or more wordings with the first."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from polyprobe.analysis.comparable import find_differing
from polyprobe.analysis.figures.figures import ALL_SCORES, BY_NAME, PAIR
from polyprobe.schema.languages import split_list
from polyprobe.schema.run.folder import Run
from polyprobe.system.messages import PolyprobeError

from .match import WORDINGS, find_versions, split_wording
from .options import ComparisonOptions
from .runs import BESIDE, Comparison, compare_runs
from .sentences.compare import VersionComparison, compare_versions

# Verdicts of the gate (`--fail-if`); the first of several ends the command.
STATUS = {"lost": 1, "not decidable": 2, "kept": 0}


class Decision(NamedTuple):
    """What is known of the loss of one figure."""

    verdict: str  # a key of STATUS
    figure: str
    reason: str  # values and bounds, or why there are none


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


def compare_folders(runs: Sequence[Run], options: ComparisonOptions) -> list[PairOutcome]:
    """Compare two runs; of more, wordings of a configuration, each with the first of `WORDINGS`."""
    pairs = _pair_wordings(runs) if len(runs) > 2 else [(runs[0], runs[1])]
    return [_compare_pair(*pair, options) for pair in pairs]


def outcomes_json(outcomes: Sequence[PairOutcome]) -> Any:
    """List the JSON of several outcomes; that of one is no list."""
    parts = [outcome.as_json() for outcome in outcomes]
    return parts if len(parts) > 1 else parts[0]


def _pair_wordings(runs: Sequence[Run]) -> list[tuple[Run, Run]]:
    """Pair each wording with the first one; refuse runs that are none of one configuration."""
    bases, wordings = zip(*map(split_wording, runs), strict=True)
    if len({*bases}) > 1 or len({*wordings}) < len(runs):
        names = ", ".join(run.settings().data_name for run in runs)
        ends = ", ".join(f"CONFIG{end}" for end in WORDINGS.values())
        raise PolyprobeError(
            f"more than two runs are compared as wordings of one configuration ({ends}, each also "
            f"with -wide); got {names}"
        )
    by_wording = dict(zip(wordings, runs, strict=True))
    reference, *variants = (by_wording[x] for x in WORDINGS if x in by_wording)
    return [(variant, reference) for variant in variants]


def _compare_pair(first: Run, second: Run, options: ComparisonOptions) -> PairOutcome:
    """Compare two runs, with the effect of wording if they differ in wording."""
    runs, requests, keywords = (first, second), options.requests, options.keywords
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


def find_status(verdicts: Sequence[Decision]) -> int:
    """Find the exit status: 1 with a lost figure, else 2 with one that is not decidable, else 0."""
    return next(STATUS[name] for name in STATUS if name in {x.verdict for x in verdicts})


def exceeds(bounds: Sequence[float], margin: float, strict: bool = False) -> bool:
    """Tell whether a loss with these one-sided 95% bounds is (strict: may be) above a margin."""
    return bounds[strict] > margin + 1e-9  # sums of equal rows in another order may differ


def decide(result: Comparison, runs: Sequence[Run], options: ComparisonOptions) -> list[Decision]:
    """Decide each figure of `--fail-if`; the first run is the earlier one.

    A figure is lost if its loss, that of the earlier run less that of the later one, is larger than
    a margin with 95% confidence: the one-sided bound of the paired bootstrap is above the margin.
    Strict, it is lost if a larger loss cannot be excluded with that confidence.
    """
    problems, verdicts = [*_list_problems(result, runs)], []
    for figure in dict.fromkeys(split_list(options.fail_if)):
        name, _, part = figure.partition(".")
        rows = {row.name: row for row in result.differences.get(name, ())}
        row, reasons = rows.get(part or "mean"), [*problems]
        if row is None:
            reasons.append(_explain(name, part, [*rows]))
        elif row.name == "mean":
            # else the mean would be that of other languages
            absent = [x for x in runs[0].settings().languages if x in result.left_out_languages]
            absent += [x for x, y in rows.items() if y.first is not None is y.second and y != row]
            reasons += [f"{result.names[1]} has no value of {x}" for x in absent]
        low, high = bounds = (row and row.bounds) or [0.0, 0.0]
        if row and not row.bounds:
            reasons.append("no interval: too few facts, values or --resamples")
        elif row and options.strict and low == high and result.n_units * options.margin < 3:
            # without a loss in n facts one of 3 / n cannot be excluded
            text = f"{result.n_units:,} facts cannot exclude a loss above {options.margin:g}"
            reasons.append(f"no resample differs, and {text}")
        if reasons or not row:
            verdicts.append(Decision("not decidable", figure, "; ".join(reasons)))
            continue
        text = (
            f"{row.first:.3f} → {row.second:.3f}, loss {row.difference:.4f}, with 95% confidence "
            f"at least {low:.4f}, at most {high:.4f} (margin {options.margin:g})"
        )
        verdict = "lost" if exceeds(bounds, options.margin, options.strict) else "kept"
        verdicts.append(Decision(verdict, figure, text))
    return verdicts


def _list_problems(result: Comparison, runs: Sequence[Run]) -> Iterator[str]:
    """Yield what makes all figures of the two runs incomparable."""
    if n := result.left_out[0]:
        yield f"{result.names[1]} lacks {n:,} rows of {result.names[0]}"
    differing = find_differing([run.settings() for run in runs], [[{"n_queries": 0}]] * 2)
    # a figure of donors is missing without them, rows that were not imported are counted above
    for name in sorted(differing.keys() - BESIDE - {"languages", "donor", "missing"}):
        yield f"other {name} ({' / '.join(differing[name])})"


def _explain(name: str, part: str, names: Sequence[str]) -> str:
    """Explain why there is no value of a figure."""
    if names:
        return f"there is no {part or 'mean'} in both runs; they have {', '.join(names[:9])}"
    figure = BY_NAME[name]
    needs = [figure.input.needs, "several languages" if figure.per == PAIR else ""]
    needs.append("the same candidates in every language" if figure.input.matched else "")
    needs.append(ALL_SCORES if figure.input.ranked else "")
    return f"not in both runs; it needs {', '.join(filter(None, needs))}"
