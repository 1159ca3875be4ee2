"""Write the report of one or several runs as one HTML file that opens without a network."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polyprobe.analysis.compare.folders import Outcome
from polyprobe.analysis.compare.runs import Comparison, compare_runs
from polyprobe.analysis.figures.compute import OPTIONS, find_results
from polyprobe.analysis.figures.declaration import SECOND_RANKINGS
from polyprobe.analysis.figures.figures import HEADLINE
from polyprobe.analysis.figures.floors import FLOORS
from polyprobe.analysis.figures.options import Bootstrap, MetricOptions
from polyprobe.metrics.joint import HEADLINES
from polyprobe.report.findings.comparison import LEVEL, list_notes
from polyprobe.report.findings.run import QUANTITIES, SHARES
from polyprobe.report.format import NO_WIDTH
from polyprobe.report.page.pictures import find_scale, list_pictures
from polyprobe.report.pictures.picture import Picture
from polyprobe.schema.run.folder import FinishedRun, Run
from polyprobe.schema.run.naming import describe_differing, name_runs
from polyprobe.schema.run.rows import ALL_ROWS, Choice, make_choice
from polyprobe.system.errors import PolyprobeError

from .decodings import write_decodings
from .examples import collect_examples, read_answers
from .page import check_output, write_page
from .parts import (
    Between,
    RunPart,
    list_cautions,
    list_drawn,
    list_every_mean,
    list_languages,
    list_means,
    list_orders,
    name_languages,
    select_differences,
    sort_pair_figures,
)
from .sentences import write_versions

BUDGET = 1_300_000  # bytes of examples in a page, shared by its runs
BY_PAPERS = tuple(figure.name for figure in HEADLINE if figure.input is not SECOND_RANKINGS)
NEEDED = {
    "languages": list,
    "n_queries": int,
    "signature": str,
    **dict.fromkeys((*BY_PAPERS, "mean", "chance", "left_out"), dict),
}
TEMPLATES = ("rankc_templates", "templates")
_TEST = {"test": "randomisation", "correction": "holm"}
TERMS = [
    *((figure.title, figure.says) for figure in HEADLINE),
    *((f"floor: {floor.title}", floor.says) for floor in FLOORS),
    ("tie", "Several candidates with the best score; the answers count as neither equal nor not."),
    ("interval with *", f"{NO_WIDTH.removeprefix('*: ').capitalize()}."),
]


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
    finished = [read_finished(Run(folder), choice) for folder in runs]
    compared: list[Comparison | str] = []
    for other in finished[1:]:
        drawn = finished[0].results.get("resampling", {})
        options = {**_TEST, **drawn, "n_resamples": drawn.get("n_resamples") or 1_000}
        pair, used = (finished[0].run, other.run), MetricOptions.read(finished[0].results)
        if used.of_pairs != MetricOptions.read(other.results).of_pairs:
            compared.append("not compared: their results.json have other options")
            continue
        options |= {"choice": choice, "figures": HEADLINE, "options": used}
        try:
            compared.append(compare_runs(*pair, **options))
        except PolyprobeError as error:
            compared.append(f"not compared: {error}")
    return write_pages(finished, output, compared)


def write_comparison(
    runs: tuple[Run, Run], outcome: Outcome, output: Path | None, choice: Choice = ALL_ROWS
) -> dict[str, Picture]:
    """Write two compared runs as one HTML file: the effect of sentences, or a report of both.

    Returns its pictures by name; without an `output` it does this alone.

    Raises:
        PolyprobeError: a run without results, or the output cannot be written.
    """
    if outcome.wording:
        return write_versions(outcome.wording, outcome.comparison.settings, output)
    finished = [read_finished(run, choice, OPTIONS) for run in runs]  # as `compare` does
    return write_pages(finished, output, [outcome.comparison])


def write_pages(
    runs: Sequence[FinishedRun], output: Path | None, compared: Sequence[Comparison | str] = ()
) -> dict[str, Picture]:
    """Write the report of runs that are in memory, see `write_report`; return its pictures.

    `compared` are the comparisons of the first run with each of the others, or why there is none.
    """
    names = name_runs([finished.run for finished in runs])
    if all(finished.run.settings().kind == "predictions" for finished in runs):
        return write_decodings(runs, names, output, compared)
    budget = BUDGET // len(runs) if output else 0
    parts = [_make_part(finished, name, budget) for finished, name in zip(runs, names, strict=True)]
    between = [
        Between((0, place), f"{names[0]} − {names[place]}", found)
        for place, found in enumerate(compared, start=1)
        if isinstance(found, Comparison)
    ]
    pictures = list_pictures(parts, between)
    if not output:
        return pictures
    figures = sort_pair_figures(parts)
    drawn = list_drawn(parts)
    measures = {figure.name: figure.title for figure in drawn}
    write_page(
        output,
        "report",
        title=_title(parts),
        data={
            "measures": measures,
            "runs": [_select_data(part, [*measures]) for part in parts],
            "differences": [select_differences(two, parts) for two in between],
            "scales": {figure.name: find_scale(figure, parts) for figure in drawn},
            "names": name_languages(parts),
            "level": LEVEL,
            "shares": SHARES,
            "quantities": QUANTITIES,
        },
        parts=parts,
        terms=TERMS,
        measures=measures,
        quantities=QUANTITIES,
        shorts={figure.name: figure.heading for figure in figures},
        between=between,
        differing=describe_differing([finished.run for finished in runs]),
        cautions=list_cautions(parts),
        notes=_list_notes(names, compared),
        means=list_means(parts, between),
        every_mean=list_every_mean(parts, between),
        accuracies=list_languages(parts, between),
    )
    return pictures


def _title(parts: Sequence[RunPart]) -> str:
    data = {part.settings.data_name for part in parts}
    who = parts[0].name if len(parts) == 1 else f"{len(parts)} runs"
    return f"polyprobe: {who}" + (f" on {data.pop()}" if len(data) == 1 else "")


def _list_notes(names: Sequence[str], compared: Sequence[Comparison | str]) -> list[str]:
    """Return the notes on the comparisons, one line each, with the name of the other run."""
    return [
        f"{names[0]} and {name}: {line}"
        for name, found in zip(names[1:], compared, strict=False)
        for line in ([found] if isinstance(found, str) else list_notes(found))
    ]


def read_finished(
    run: Run, choice: Choice = ALL_ROWS, options: MetricOptions | None = None
) -> FinishedRun:
    """Return a run with its results, computed again if rows or other options are chosen."""
    results = run.read_results()
    given = MetricOptions.read(results)
    options = given if options is None else options
    if choice != ALL_ROWS or options != given:
        bootstrap = Bootstrap(**results.get("resampling", {}))
        return FinishedRun(run, find_results(run, bootstrap, choice, options))
    return FinishedRun(run, results)


def _make_part(finished: FinishedRun, name: str, budget: int) -> RunPart:
    run, results, texts = finished
    settings = run.settings()
    if settings.kind == "predictions":
        raise PolyprobeError(
            f"{run.folder} holds free predictions, other runs scores of candidates; report them "
            "apart"
        )
    missing = [key for key in NEEDED if not isinstance(results.get(key), NEEDED[key])]
    if missing:
        if results.get("own_candidates"):
            raise PolyprobeError(
                f"{run.folder} has other candidates in each language, so no RankC, which the "
                f"report needs; see `polyprobe metrics {run.folder}`"
            )
        chosen = MetricOptions.read(results).ranking.figures
        raise PolyprobeError(
            f"{run.folder}/results.json has no {', '.join(missing)}, which the report needs; run "
            f"`polyprobe metrics {run.folder}` again{' without --figures' if chosen else ''}"
        )
    if not budget:
        return RunPart(name, settings, results, {})
    choice = make_choice(**(results.get("subset") or {}))
    answers = read_answers(run, results["languages"], choice)
    return RunPart(name, settings, results, collect_examples(settings, answers, budget, texts))


def _select_data(part: RunPart, measures: Sequence[str]) -> dict[str, Any]:
    """Return the values that the page's script draws."""
    bounds = part.results.get("intervals", {})
    drawn = dict.fromkeys((*HEADLINES, *measures))
    names = ("languages", "chance", "floors", "calibration", "k_share", *TEMPLATES, *drawn)
    results = {
        **{name: part.results[name] for name in names if name in part.results},
        "intervals": {name: bounds[name] for name in drawn if name in bounds},
    }
    orders = list_orders(part.results["languages"], {x: part.results[x] for x in measures})
    return {"name": part.name, "results": results, "orders": orders, **part.examples}
