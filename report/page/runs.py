"""Write the report of one or several runs as one HTML file that opens without a network."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from polyprobe.analysis.compare.folders import PairOutcome
from polyprobe.analysis.compare.runs import Comparison, compare_runs
from polyprobe.analysis.figures.compute import OPTIONS, find_results
from polyprobe.analysis.figures.declaration import SECOND_RANKINGS
from polyprobe.analysis.figures.figures import HEADLINE
from polyprobe.analysis.figures.floors import FLOORS
from polyprobe.analysis.figures.options import MetricOptions
from polyprobe.analysis.figures.units import Bootstrap
from polyprobe.metrics.pictures.picture import Picture
from polyprobe.report.finding import Column, Finding, Part, Role, Table
from polyprobe.report.findings.comparison import list_notes
from polyprobe.report.findings.run import make_templates_part
from polyprobe.report.findings.versions import make_versions_finding
from polyprobe.report.format import NO_WIDTH, format_interval, format_value
from polyprobe.schema.run.folder import FinishedRun, Run
from polyprobe.schema.run.naming import describe_differing, name_runs
from polyprobe.schema.run.rows import ALL_ROWS, Choice, make_choice
from polyprobe.system.errors import PolyprobeError

from .decodings import make_decodings_finding
from .drawing import Drawing
from .examples import collect_examples, read_answers
from .page import check_output, write_finding
from .parts import (
    Between,
    Report,
    RunPart,
    list_cautions,
    list_signatures,
    make_accuracies_table,
    make_every_mean_table,
    make_means_table,
    make_pairs_table,
    make_partners_table,
    make_runs_part,
)
from .pictures import ACCURACY, CALIBRATION, PAIRS, SHARES, TEMPLATES, list_drawings

BUDGET = 1_300_000  # bytes of examples in a page, shared by its runs
BY_PAPERS = tuple(figure.name for figure in HEADLINE if figure.input is not SECOND_RANKINGS)
NEEDED = {
    "languages": list,
    "n_queries": int,
    "signature": str,
    **dict.fromkeys((*BY_PAPERS, "mean", "chance", "left_out"), dict),
}
TERMS = [
    *((figure.title, figure.definition) for figure in HEADLINE),
    *((f"floor: {floor.title}", floor.definition) for floor in FLOORS),
    ("tie", "Several candidates with the best score; the answers count as neither equal nor not."),
    ("interval with *", f"{NO_WIDTH.removeprefix('*: ').capitalize()}."),
]


_TEXTS = {
    "means": "A floor is the figure of a ranking that knows nothing about the facts. A figure "
    "means something as far as it is above its floors.",
    "differences": "Differences are paired, over the facts and languages that both runs have.",
    "floor": "†: the interval is not above the most frequent answers.",
    "shares": "Share of the facts that are right in exactly 1, 2, … languages, of all facts right "
    "in at least one.",
    "pairs": "Select a cell or a pair to see examples of its two languages.",
    "templates": "RankC within a language compares two templates of a fact: how consistent the "
    "model is with itself. RankC with others compares two languages in different templates. It is "
    "at most the mean of RankC within both languages, up to sampling error. Worst and best are the "
    "accuracies of a relation's worst and best template, averaged over relations; the best of "
    "several equal templates is above their mean by chance.",
    "calibration": "Points: mean confidence and accuracy of the facts in a bin of confidence. On "
    "the broken line the model knows how sure it may be.",
}


def write_report(
    runs: Sequence[Path], output: Path | None, choice: Choice = ALL_ROWS
) -> dict[str, Picture]:
    """Write the report of one run, or of several side by side, and return its pictures by name.

    The report is one HTML file; None: only the pictures.

    Several runs are compared with the first one, over the facts that both have. The texts of the
    examples come from the dataset. If it is missing or has changed, the report has fact ids and
    candidate numbers instead, and a note. With a choice of scored rows the figures are computed
    again, as results.json has its intervals; that file stays.

    Raises:
        PolyprobeError: not a run folder, missing scores, or the output cannot be written.
    """
    if output:
        check_output(output)
    first, *rest = [read_finished(Run(folder), choice) for folder in runs]
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
    """Write two compared runs as one HTML file: the effect of sentences, or a report of both.

    Returns its pictures by name; without an `output` it does this alone.

    Raises:
        PolyprobeError: a run without results, or the output cannot be written.
    """
    if outcome.wording:
        finding = make_versions_finding(outcome)
        if output:
            write_finding(finding, output)
        return dict(finding.pictures)
    finished = [read_finished(run, choice, OPTIONS) for run in runs]  # as `compare` does
    return write_pages(finished, output, [outcome.comparison])


def write_pages(
    runs: Sequence[FinishedRun], output: Path | None, compared: Sequence[Comparison | str] = ()
) -> dict[str, Picture]:
    """Write the report of runs that are in memory, see `write_report`; return its pictures.

    `compared` are the comparisons of the first run with each of the others, or why there is none.
    """
    decoded = all(finished.run.settings().kind == "predictions" for finished in runs)
    report = _make_report(runs, compared, decoded)
    drawings = list_drawings(report)
    make = make_decodings_finding if decoded else _make_finding
    finding = make(report, drawings)
    if output:
        data: dict[str, Any] = {} if decoded else {"runs": list_examples(report)}
        if not decoded and drawings.get(PAIRS):
            part = next(part for part in report.parts if part.ranked_pairs)
            data["pair"] = part.ranked_pairs[-1]  # the least consistent one
        write_finding(finding, output, drawings=drawings, **data)
    return dict(finding.pictures)


def _make_report(
    runs: Sequence[FinishedRun], compared: Sequence[Comparison | str], decoded: bool
) -> Report:
    names = name_runs([finished.run for finished in runs])
    parts = []
    for finished, name in zip(runs, names, strict=True):
        _check_results(finished, decoded)
        parts.append(RunPart(name, finished.run.settings(), finished.results))
    between = [
        Between(place, f"{names[0]} − {names[place]}", comparison)
        for place, comparison in enumerate(compared, start=1)
        if isinstance(comparison, Comparison)
    ]
    reasons = [
        f"{names[0]} and {name}: {reason}"
        for name, reason in zip(names[1:], compared, strict=False)
        if isinstance(reason, str)
    ]
    return Report(runs, parts, between, reasons)


def _make_finding(report: Report, drawings: dict[str, list[Drawing]]) -> Finding:
    parts, names = report.parts, [part.name for part in report.parts]
    data = {part.settings.data_name for part in parts}
    title = names[0] if len(names) == 1 else f"{len(names)} runs"
    return Finding(
        title + (f" on {data.pop()}" if len(data) == 1 else ""),
        [*_list_parts(report, drawings), make_runs_part(report)],
        "\n".join(_list_leads(report)),
        settings=list_signatures(report),
        cautions=list_cautions(parts),
        terms=TERMS,
        pictures={x.name: x.picture for of_part in drawings.values() for x in of_part},
    )


def _list_leads(report: Report) -> Iterator[str]:
    """Yield one sentence for each run, and in what the runs differ."""
    for place, part in enumerate(report.parts):
        yield _describe_run(part, explain=not place)
    if len(report.parts) > 1:
        line = describe_differing([finished.run for finished in report.runs])
        yield f"{line[0].upper()}{line[1:]}."


def _describe_run(part: RunPart, explain: bool) -> str:
    """Describe accuracy, floors and consistency of a run; `explain`: also what 0 and 1 mean."""
    results, mean = part.results, part.results["mean"]
    count, frequency = len(results["languages"]), results.get("floors", {}).get("frequency")
    averaged = f"averaged over {count} languages" if count > 1 else "in one language"
    floor = f"; the most frequent answers: {frequency['accuracy']:.1%}" if frequency else ""
    text = (
        f"{part.name} on {part.settings.data_name}{part.rows} gets {mean['accuracy']:.1%} of "
        f"{results['n_queries']:,} facts right, {averaged} (guessing: "
        f"{results['chance']['accuracy']:.1%}{floor})"
    )
    for name, title, ends in (
        ("rankc_subject", "a subject-corrected", "whatever the subject, 1: the same ranking only "
         "with the same subject"),
        ("rankc_adjusted", "an adjusted", "chance, 1: the same ranking"),
    ):  # fmt: skip
        if mean.get(name) is not None:
            text += f"; its rankings agree between languages with {title} RankC of "
            text += format_value(mean[name])
            if name == "rankc_subject" and results.get("intervals"):
                text += f" ({format_interval(results['intervals']['mean'][name])})"
            return text + (f" (0: {ends})." if explain else ".")
    return f"{text}."


def _list_parts(report: Report, drawings: dict[str, list[Drawing]]) -> Iterator[Part]:
    """Yield the parts of the page; pictures are those of `drawings`."""
    tests = [*report.reasons, *(
        f"{two.title}: {line}" for two in report.between for line in list_notes(two.comparison)
    )]  # fmt: skip
    notes = Table([Column("test", Role.LABEL)], [[line] for line in tests], folded="Tests")
    lines = [_TEXTS["means"], *([_TEXTS["differences"]] if report.between else [])]
    means = make_means_table(report)
    yield Part("Means and floors", [*lines, means, make_every_mean_table(report), notes])
    yield Part(ACCURACY, [make_accuracies_table(report), _TEXTS["floor"]])
    if SHARES in drawings:
        yield Part(SHARES, [_TEXTS["shares"]])
    if PAIRS in drawings:
        paired = [part for part in report.parts if part.ranked_pairs]
        tables = [
            table
            for part in paired
            for table in (make_pairs_table(part), make_partners_table(part))
        ]
        yield Part(PAIRS, [_TEXTS["pairs"], *tables])
    if TEMPLATES in drawings:
        yield Part(TEMPLATES, [_TEXTS["templates"], *_list_templates(report.parts)])
    if CALIBRATION in drawings:
        yield Part(CALIBRATION, [_TEXTS["calibration"]])


def _list_templates(parts: Sequence[RunPart]) -> Iterator[Table | str]:
    """Yield the tables by template of the runs that have several."""
    for part in parts:
        if len(parts) > 1:
            yield f"{part.name}:"
        each, *blocks = make_templates_part(part.results).blocks
        yield from blocks
        assert isinstance(each, Table)
        yield each._replace(folded=f"{part.name}: each template")


def list_examples(report: Report) -> list[dict[str, Any]]:
    """List the languages and the examples of each run, for the page's script."""
    # all runs share the budget, so that a page of many runs is no larger than one of a single run
    budget, examples = BUDGET // len(report.runs), []
    for (run, results, texts), part in zip(report.runs, report.parts, strict=True):
        answers = read_answers(
            run, results["languages"], make_choice(**results.get("subset") or {})
        )
        facts = collect_examples(part.settings, answers, budget, texts)
        examples.append({"name": part.name, "languages": results["languages"], **facts})
    return examples


def read_finished(
    run: Run, choice: Choice = ALL_ROWS, options: MetricOptions | None = None
) -> FinishedRun:
    """Read a run with its results, computed again if rows or other options are chosen."""
    results = run.read_results()
    default = MetricOptions.read(results)
    options = default if options is None else options
    if choice != ALL_ROWS or options != default:
        bootstrap = Bootstrap(**results.get("resampling", {}))
        return FinishedRun(run, find_results(run, bootstrap, choice, options))
    return FinishedRun(run, results)


def _check_results(finished: FinishedRun, decoded: bool) -> None:
    """Refuse results that lack what the report needs.

    Raises:
        PolyprobeError: free predictions beside scores, or a figure is missing.
    """
    run, results, _ = finished
    if decoded:
        if "factual_accuracy" not in results:
            raise PolyprobeError(
                f"{run.folder}/results.json has no factual_accuracy; run "
                f"`polyprobe metrics {run.folder}`"
            )
        return
    if run.settings().kind == "predictions":
        raise PolyprobeError(
            f"{run.folder} holds free predictions, other runs scores of candidates; report them "
            "apart"
        )
    missing = [key for key in NEEDED if not isinstance(results.get(key), NEEDED[key])]
    if missing and results.get("own_candidates"):
        raise PolyprobeError(
            f"{run.folder} has other candidates in each language, so no RankC, which the "
            f"report needs; see `polyprobe metrics {run.folder}`"
        )
    if missing:
        figures = MetricOptions.read(results).figures
        raise PolyprobeError(
            f"{run.folder}/results.json has no {', '.join(missing)}, which the report needs; run "
            f"`polyprobe metrics {run.folder}` again{' without --figures' if figures else ''}"
        )
