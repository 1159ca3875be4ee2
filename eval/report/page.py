"""Write runs as one HTML file that opens without a network."""

import json
from collections import Counter
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from polyprobe.eval.run.folder import Run
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.files import write_whole

from .answers import read_answers
from .examples import collect_examples
from .sections import MEANINGS, MEASURES, RunPart, comparison, run_section, summary

BUDGET = 2_000_000  # bytes of examples in a page, shared by its runs

# A browser that reads this loads nothing from anywhere, whatever the page should hold.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"


def write_report(runs: Sequence[Path], output: Path) -> None:
    """Write the report of one run, or of several side by side, as one file.

    The dataset is looked for again, for the texts of the examples; where it is gone or has
    changed, the report shows fact ids and candidates' numbers and says so.

    Raises:
        PolyprobeError: no run there, scores missing, plotly not installed, or no place to write.
    """
    script = _plotly()
    names = _names([Run(folder) for folder in runs])
    parts = [
        _read_part(Run(folder), name, BUDGET // len(runs))
        for folder, name in zip(runs, names, strict=True)
    ]
    text = _page(parts, script)
    write_whole(
        Path(output),
        lambda part: part.write_text(text, encoding="utf-8"),
        "choose another --output",
    )


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise PolyprobeError("the report needs plotly; pip install 'polyprobe[report]'") from None
    return get_plotlyjs()


def _names(runs: Sequence[Run]) -> list[str]:
    """Return the models' names, with the folder's where two runs have the same model."""
    if not runs:
        raise PolyprobeError("no run given; name at least one run folder")
    models = [run.settings().model_name for run in runs]
    often = Counter(models)
    return [
        model if often[model] == 1 else f"{model} ({run.folder.resolve().name})"
        for model, run in zip(models, runs, strict=True)
    ]


NEEDED = {
    "languages": list,
    "n_queries": int,
    "signature": str,
    **dict.fromkeys(("accuracy", *MEASURES, "mean", "chance", "left_out"), dict),
}


def _read_part(run: Run, name: str, budget: int) -> RunPart:
    settings = run.settings()
    if settings.kind == "predictions":
        raise PolyprobeError(
            f"{run.folder} holds free predictions, no rankings to report; its figures stand in "
            "results.json, the texts in predictions/"
        )
    if not (run.folder / "results.json").exists():
        raise PolyprobeError(
            f"{run.folder} has no results.json; make it with `polyprobe metrics {run.folder}`"
        )
    results = run.read_json("results.json")
    missing = [key for key in NEEDED if not isinstance(results.get(key), NEEDED[key])]
    if missing:
        raise PolyprobeError(
            f"{run.folder}/results.json lacks {', '.join(missing)}; make it again with "
            f"`polyprobe metrics {run.folder}`"
        )
    answers = read_answers(run, results["languages"])
    return RunPart(name, settings, results, collect_examples(settings, answers, budget))


def _page(parts: Sequence[RunPart], plotly: str) -> str:
    many = len(parts) > 1
    title = "polyprobe: " + (f"{len(parts)} runs" if many else parts[0].name)
    headings = [f"<h2>{escape(p.name)}</h2><p>{summary(p)}</p>" if many else "" for p in parts]
    sections = [run_section(i, p, h) for i, (p, h) in enumerate(zip(parts, headings, strict=True))]
    answers = "".join(f'<p class="answer">{summary(part)}</p>' for part in parts)
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(title)}</title><style>{_own('report.css')}</style></head><body><main>",
            f"<header><h1>{escape(title)}</h1>{answers}{MEANINGS}</header>",
            "<noscript><p class='note'>Figures and examples need JavaScript.</p></noscript>",
            comparison(parts) if many else "",
            *sections,
            f'</main><script type="application/json" id="data">{_embed(parts)}</script>',
            f"<script>{plotly}</script>\n<script>{_own('plot.js')}\n{_own('report.js')}</script>"
            "</body></html>\n",
        ]
    )


def _embed(parts: Sequence[RunPart]) -> str:
    """Return the data as JSON that cannot end its script element."""
    runs: list[dict[str, Any]] = [
        {"name": part.name, "results": _shown(part.results), **part.examples} for part in parts
    ]
    text = json.dumps({"runs": runs}, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _shown(results: dict[str, Any]) -> dict[str, Any]:
    """Return those of the results that the page's script draws."""
    drawn = ("accuracy", *MEASURES)
    bounds = results.get("intervals", {})
    return {
        **{name: results[name] for name in ("languages", "chance", *drawn)},
        "intervals": {name: bounds[name] for name in drawn if name in bounds},
    }


def _own(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
