"""Write the report of one or several runs."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polyprobe.eval.run.folder import FinishedRun, Run
from polyprobe.metrics.joint import HEADLINES
from polyprobe.system.errors import PolyprobeError

from .answers import read_answers
from .examples import collect_examples
from .sections import MEASURES, TERMS, RunPart, compare_parts, list_differing
from .template import HERE, write_page

BUDGET = 2_000_000  # bytes of examples in a page, shared by its runs
NEEDED = {
    "languages": list,
    "n_queries": int,
    "signature": str,
    **dict.fromkeys((*HEADLINES, "mean", "chance", "left_out"), dict),
}


def write_report(runs: Sequence[Path], output: Path) -> None:
    """Write the report of one run, or of several side by side, as one HTML file.

    The texts of the examples come from the dataset. If it is missing or has changed, the report has
    fact ids and candidate numbers instead, and a note.

    Raises:
        PolyprobeError: not a run folder, missing scores, plotly is not installed, or the output
            cannot be written.
    """
    write_pages([_read_finished(Run(folder)) for folder in runs], output)


def write_pages(runs: Sequence[FinishedRun], output: Path) -> None:
    """Write the report of runs that are in memory, see `write_report`."""
    names = _names([finished.run for finished in runs])
    parts = [
        _make_part(finished, name, BUDGET // len(runs))
        for finished, name in zip(runs, names, strict=True)
    ]
    write_page(
        output,
        HERE / "report.html",
        [HERE / "plot.js", HERE / "report.js"],
        title="polyprobe: " + (f"{len(parts)} runs" if len(parts) > 1 else parts[0].name),
        data={"measures": MEASURES, "runs": [_select_data(part) for part in parts]},
        parts=parts,
        terms=TERMS,
        measures=MEASURES,
        comparison=compare_parts(parts),
        differing=list_differing(parts),
    )


def _names(runs: Sequence[Run]) -> list[str]:
    """Return the models' names, with the folder's name where two runs have the same model."""
    if not runs:
        raise PolyprobeError("no run given; name at least one run folder")
    models = [run.settings().model_name for run in runs]
    often = Counter(models)
    return [
        model if often[model] == 1 else f"{model} ({run.folder.resolve().name})"
        for model, run in zip(models, runs, strict=True)
    ]


def _read_finished(run: Run) -> FinishedRun:
    run.settings()
    if not (run.folder / "results.json").exists():
        raise PolyprobeError(
            f"{run.folder} has no results.json; make it with `polyprobe metrics {run.folder}`"
        )
    return FinishedRun(run, run.read_json("results.json"))


def _make_part(finished: FinishedRun, name: str, budget: int) -> RunPart:
    run, results, texts = finished
    settings = run.settings()
    if settings.kind == "predictions":
        raise PolyprobeError(
            f"{run.folder} holds free predictions without rankings to report; see results.json "
            "and predictions/"
        )
    missing = [key for key in NEEDED if not isinstance(results.get(key), NEEDED[key])]
    if missing:
        raise PolyprobeError(
            f"{run.folder}/results.json lacks {', '.join(missing)}; make it again with "
            f"`polyprobe metrics {run.folder}`"
        )
    answers = read_answers(run, results["languages"])
    return RunPart(name, settings, results, collect_examples(settings, answers, budget, texts))


def _select_data(part: RunPart) -> dict[str, Any]:
    """Return the values that the page's script draws."""
    bounds = part.results.get("intervals", {})
    results = {
        **{name: part.results[name] for name in ("languages", "chance", *HEADLINES)},
        "intervals": {name: bounds[name] for name in HEADLINES if name in bounds},
    }
    return {"name": part.name, "results": results, **part.examples}
