"""Write the report of one or several runs as one HTML file that opens without a network."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polyprobe.analysis.comparable import find_differing
from polyprobe.analysis.compare.folders import PairOutcome
from polyprobe.analysis.compare.runs import Comparison, compare_runs
from polyprobe.analysis.figures.compute import OPTIONS, find_results
from polyprobe.analysis.figures.figures import HEADLINE
from polyprobe.analysis.figures.options import MetricOptions
from polyprobe.analysis.figures.results import read_results
from polyprobe.analysis.options import Bootstrap
from polyprobe.metrics.pictures.picture import Picture
from polyprobe.report.finding import Finding
from polyprobe.report.findings.versions import make_versions_finding
from polyprobe.schema.run.folder import FinishedRun, Run, describe_differing, name_runs
from polyprobe.schema.run.protocol import protocol_of
from polyprobe.schema.run.rows import ALL_ROWS, Choice
from polyprobe.system.messages import PolyprobeError, check_ending
from polyprobe.system.options import check_arguments

from . import parts
from .examples import list_examples
from .page import ENDINGS, write_finding
from .pictures import list_drawings


@check_arguments
def write_report(
    runs: Sequence[Path], output: Path | None, choice: Choice = ALL_ROWS
) -> dict[str, Picture]:
    """Write the report of one run, or of several side by side, and return its pictures by name.

    The report is one HTML file; None: only the pictures. Several runs are compared with the first
    one, over the facts that both have. The texts of the examples come from the dataset. If it is
    missing or has changed, the report has fact ids and candidate numbers instead, and a note. With
    a choice of scored rows the figures are computed again; results.json stays.

    Raises:
        PolyprobeError: not a run folder, missing scores, or the output cannot be written.
    """
    if output:
        check_ending("--output", output, ENDINGS)
    first, *rest = [_read_finished(Run(folder), choice) for folder in runs]
    return write_pages([first, *rest], output, [_compare(first, run, choice) for run in rest])


def _compare(first: FinishedRun, second: FinishedRun, choice: Choice) -> Comparison | str:
    """Compare two runs by the figures of a report; return the reason if this is impossible."""
    options = MetricOptions.read(first.results)
    if options.of_pairs != MetricOptions.read(second.results).of_pairs:
        return "not compared: their results.json have other options"
    resampling = first.results.get("resampling", {})
    try:
        return compare_runs(
            first.run,
            second.run,
            choice=choice,
            figures=HEADLINE,
            options=options,
            test="randomisation",
            correction="holm",
            **{**resampling, "n_resamples": resampling.get("n_resamples") or 1_000},
        )
    except PolyprobeError as error:
        return f"not compared: {error}"


def write_comparison(
    runs: tuple[Run, Run], outcome: PairOutcome, output: Path | None, choice: Choice = ALL_ROWS
) -> dict[str, Picture]:
    """Write two compared runs, as `write_report` does: the effect of sentences, or both reports."""
    if outcome.wording:
        finding = make_versions_finding(outcome)
        if output:
            write_finding(finding, output)
        return dict(finding.pictures)
    finished = [_read_finished(run, choice, OPTIONS) for run in runs]  # as `compare` does
    return write_pages(finished, output, [outcome.comparison])


def _read_finished(run: Run, choice: Choice, options: MetricOptions | None = None) -> FinishedRun:
    """Read a run with its results, computed again if rows or other options are chosen."""
    results = read_results(run)
    default = MetricOptions.read(results)
    options = default if options is None else options
    if choice != ALL_ROWS or options != default:
        bootstrap = Bootstrap(**results.get("resampling", {}))
        results = find_results(run, bootstrap, choice, options)
    return FinishedRun(run, results)


def write_pages(
    runs: Sequence[FinishedRun], output: Path | None, compared: Sequence[Comparison | str] = ()
) -> dict[str, Picture]:
    """Write the report of runs in memory, and of the comparisons of the first one with others."""
    decoded = all(finished.run.settings().kind == "predictions" for finished in runs)
    for finished in runs:
        _check_results(finished, decoded)
    names = name_runs([finished.run for finished in runs])
    report = parts.make_report(runs, names, compared)
    drawings = list_drawings(report)
    finding = _make_finding(report, drawings, decoded)
    if output:
        data: dict[str, Any] = {} if decoded else {"runs": list_examples(runs, names)}
        if not decoded and parts.Titles.PAIRS in drawings:
            # the least consistent one; if none is defined, the first
            pairs = (part.ranked_pairs for part in report.parts)
            default = [report.parts[0].results["languages"][:2]]
            data["pair"] = next(filter(None, pairs), default)[-1]
        write_finding(finding, output, **data)
    return dict(finding.pictures)


def _make_finding(report: parts.Report, drawings: parts.Drawings, decoded: bool) -> Finding:
    runs, names = report.parts, [part.name for part in report.parts]
    data = {part.settings.data_name for part in runs}
    title = f"{len(names)} runs" if len(names) > 1 else names[0]
    describe, list_parts, terms = parts.describe_scores, parts.list_score_parts, parts.TERMS
    if decoded:
        describe, list_parts = parts.describe_decodings, parts.list_decoding_parts
        terms = parts.TERMS_OF_DECODINGS
    # the first one with explanations
    lines = [describe(part, place == 0) for place, part in enumerate(runs)]
    if len(runs) > 1:
        line = describe_differing([finished.run for finished in report.runs])
        lines.append(f"{line[0].upper()}{line[1:]}.")
    blocks = [*list_parts(report, drawings), parts.make_runs_part(report)]
    differing = find_differing([part.settings for part in runs], [[part.results] for part in runs])
    if decoded:
        differing.pop("scoring", None)  # all figures are accuracies
    caution = f"These runs differ in {', '.join(differing)}: their means are not comparable."
    pictures = {x.name: x for of_part in drawings.values() for x in of_part}
    return Finding(
        title + (f" on {data.pop()}" if len(data) == 1 else ""),
        [x._replace(pictures=[y.name for y in drawings.get(x.title, ())]) for x in blocks],
        "\n".join(lines),
        settings=[parts.name_part(part, report) + part.results["signature"] for part in runs],
        notes=report.reasons if decoded else (),
        cautions=[caution] * bool(differing),
        terms=terms,
        pictures={name: x.picture for name, x in pictures.items()},
        choices={name: x.choice for name, x in pictures.items()},
    )


def _check_results(finished: FinishedRun, decoded: bool) -> None:
    """Refuse results that lack what the report needs, and free predictions beside scores."""
    run, results, _ = finished
    again = f"run `polyprobe metrics {run.folder}`"
    if decoded:
        if "factual_accuracy" not in results:
            raise PolyprobeError(f"{run.folder}/results.json has no factual_accuracy; {again}")
        return
    if run.settings().kind == "predictions":
        raise PolyprobeError(
            f"{run.folder} holds free predictions, other runs scores of candidates; report them "
            "apart"
        )
    choices = protocol_of(run.settings().scoring).choices
    figures = [x for x in HEADLINE if not (x.of_second or (choices and x.input.ranked))]
    names = [figure.name for figure in figures]
    missing = [name for name in names if not isinstance(results.get(name), dict)]
    if missing and results.get("own_candidates"):
        raise PolyprobeError(
            f"{run.folder} has other candidates in each language, so no RankC, which the "
            f"report needs; see `polyprobe metrics {run.folder}`"
        )
    if missing:
        without = " without --figures" if MetricOptions.read(results).figures else ""
        raise PolyprobeError(
            f"{run.folder}/results.json has no {', '.join(missing)}, which the report needs; "
            f"{again} again{without}"
        )
