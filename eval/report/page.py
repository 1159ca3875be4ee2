"""Write the report of one or several runs as one HTML file that opens without a network."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from polyprobe.eval.results.compute import Bootstrap, find_results
from polyprobe.eval.results.figures import HEADLINE, HEADLINE_PAIRS, JOINT, SEPARATE
from polyprobe.eval.results.floors import FLOORS
from polyprobe.eval.results.table import (
    format_interval,
    format_p_value,
    is_above_floor,
    list_floors,
    list_left_out,
    list_relations,
    number,
)
from polyprobe.eval.run.choice import ALL_ROWS, Choice, make_choice
from polyprobe.eval.run.folder import FinishedRun, Run, Settings
from polyprobe.metrics.joint import HEADLINES
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.extras import missing
from polyprobe.system.files import write_text

from .examples import collect_examples, read_answers

HERE = Path(__file__).parent
BUDGET = 2_000_000  # bytes of examples in a page, shared by its runs
BY_PAPERS = tuple(figure.name for figure in HEADLINE if not figure.twice)
NEEDED = {
    "languages": list,
    "n_queries": int,
    "signature": str,
    **dict.fromkeys((*BY_PAPERS, "mean", "chance", "left_out"), dict),
}


PAIRS = 10  # at most, in each list of pairs
_WITH_CHANCE = [figure for figure in HEADLINE if callable(figure.chance)]
TERMS = [
    *((figure.title, figure.says) for figure in HEADLINE),
    *((f"floor: {floor.title}", floor.says) for floor in FLOORS),
    ("tie", "Several candidates with the best score; the answers count as neither equal nor not."),
]


class RunPart(NamedTuple):
    """One run of the report: its name, settings, results and examples."""

    name: str
    settings: Settings
    results: dict[str, Any]
    examples: dict[str, Any]

    @property
    def notes(self) -> list[str]:
        """Return the counts of undefined values, one line each."""
        return list_left_out(self.results)

    @property
    def language_rows(self) -> list[list[str]]:
        """Return accuracy, its interval and whether it is above the floor, by language."""
        bounds = self.results.get("intervals", {}).get("accuracy", {})
        words = {True: "yes", False: "no", None: "–"}
        return [
            [
                x,
                number(value),
                format_interval(bounds.get(x)),
                words[is_above_floor(self.results, x)],
            ]
            for x, value in self.results["accuracy"].items()
        ]

    @property
    def floor_rows(self) -> list[list[str]]:
        """Return the means of the headline figures, chance and all floors."""
        shown = [figure for figure in HEADLINE if figure.name in self.results]
        rows = [("mean", self.results["mean"]), *list_floors(self.results)]
        return [[name, *(number(values.get(f.name)) for f in shown)] for name, values in rows]

    @property
    def floor_head(self) -> list[str]:
        """Return the head of `floor_rows`."""
        return ["", *(figure.title for figure in HEADLINE if figure.name in self.results)]

    @property
    def mean_rows(self) -> list[list[str]]:
        """Return all means with their intervals, and the figures of all languages together."""
        means, bounds = self.results["mean"], self.results.get("intervals", {}).get("mean", {})
        found = [(f, means[f.name], bounds.get(f.name)) for f in SEPARATE if f.name in means]
        found += [
            (f, self.results[f.name], self.results.get(f"{f.name}_ci"))
            for f in JOINT
            if f.name in self.results
        ]
        return [[f.title, f.says, number(value), format_interval(ci)] for f, value, ci in found]

    @property
    def chosen_rows(self) -> tuple[Choice, Choice]:
        """Return the choices of rows for scoring and for figures."""
        settings, subset = self.settings, self.results.get("subset") or {}
        return make_choice(settings.relations, settings.exclude), make_choice(**subset)

    @property
    def extremes(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Return the most and the least consistent pairs, no pair in both."""
        pairs = self.ranked_pairs
        most = pairs[: min(PAIRS, (len(pairs) + 1) // 2)]
        return [("Most", most), ("Least", pairs[::-1][: min(PAIRS, len(pairs) // 2)])]

    @property
    def chosen(self) -> tuple[str, str]:
        """Return the pair shown first: the least consistent one."""
        languages, pairs = self.results["languages"], self.ranked_pairs
        return pairs[-1] if pairs else (languages[0], languages[1])

    @property
    def ranked_pairs(self) -> list[tuple[str, str]]:
        """Return the pairs with a RankC, the highest first, equal ones in the run's order."""
        values = self.results["rankc"]
        pairs = combinations(self.results["languages"], 2)
        known = [pair for pair in pairs if values["-".join(pair)] is not None]
        return sorted(known, key=lambda pair: -values["-".join(pair)])


def write_report(runs: Sequence[Path], output: Path, choice: Choice = ALL_ROWS) -> None:
    """Write the report of one run, or of several side by side, as one HTML file.

    The texts of the examples come from the dataset. If it is missing or has changed, the report has
    fact ids and candidate numbers instead, and a note. With a choice of scored rows the figures are
    computed again, as results.json has its intervals; that file stays.

    Raises:
        PolyprobeError: not a run folder, missing scores, plotly is not installed, or the output
            cannot be written.
    """
    write_pages([_read_finished(Run(folder), choice) for folder in runs], output)


def write_pages(runs: Sequence[FinishedRun], output: Path) -> None:
    """Write the report of runs that are in memory, see `write_report`."""
    names = _names([finished.run for finished in runs])
    parts = [
        _make_part(finished, name, BUDGET // len(runs))
        for finished, name in zip(runs, names, strict=True)
    ]
    pairs = [f for f in HEADLINE_PAIRS if all(f.name in part.results for part in parts)]
    measures = {figure.name: figure.title for figure in pairs}
    write_page(
        output,
        HERE / "report.html",
        [HERE / "plot.js", HERE / "report.js"],
        title="polyprobe: " + (f"{len(parts)} runs" if len(parts) > 1 else parts[0].name),
        data={"measures": measures, "runs": [_select_data(part) for part in parts]},
        parts=parts,
        terms=TERMS,
        measures=measures,
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


def _read_finished(run: Run, choice: Choice) -> FinishedRun:
    results = run.read_results()
    if choice != ALL_ROWS:
        bootstrap = Bootstrap(**results.get("resampling", {}))
        return FinishedRun(run, find_results(run, bootstrap, choice))
    return FinishedRun(run, results)


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
    choice = make_choice(**(results.get("subset") or {}))
    answers = read_answers(run, results["languages"], choice)
    return RunPart(name, settings, results, collect_examples(settings, answers, budget, texts))


def _select_data(part: RunPart) -> dict[str, Any]:
    """Return the values that the page's script draws."""
    bounds = part.results.get("intervals", {})
    names = ("languages", "chance", "floors", *HEADLINES)
    results = {
        **{name: part.results[name] for name in names if name in part.results},
        "intervals": {name: bounds[name] for name in HEADLINES if name in bounds},
    }
    return {"name": part.name, "results": results, **part.examples}


def compare_parts(parts: Sequence[RunPart]) -> dict[str, Any]:
    """Return the table that compares several runs: `head` and `rows`."""
    shown = [figure for figure in HEADLINE if any(figure.name in p.results for p in parts)]
    head = ["run", "data", "scoring", "languages", "facts", *(f.title for f in shown)]
    rows = [
        [
            part.name,
            part.settings.data_name,
            part.settings.scoring,
            str(len(part.results["languages"])),
            f"{part.results['n_queries']:,}",
            *(number(part.results["mean"].get(figure.name)) for figure in shown),
            *(number(part.results["chance"][figure.name]) for figure in _WITH_CHANCE),
        ]
        for part in parts
    ]
    return {"head": [*head, *(f"chance: {figure.title}" for figure in _WITH_CHANCE)], "rows": rows}


def list_differing(parts: Sequence[RunPart]) -> list[str]:
    """Return in what the runs differ beside the model, which makes means incomparable."""
    asked = {
        "dataset": {(p.settings.dataset, p.settings.config) for p in parts},
        "languages": {tuple(sorted(p.results["languages"])) for p in parts},
        "facts": {
            (p.settings.limit, p.settings.sample, p.results["n_queries"], *p.chosen_rows)
            for p in parts
        },
        "scoring": {(p.settings.scoring, p.settings.bos) for p in parts},
    }
    return [name for name, values in asked.items() if len(values) > 1]


def write_page(output: Path, template: Path, scripts: Sequence[Path], **values: Any) -> None:
    """Write a page that extends page.html, with its styles and scripts inside.

    Args:
        output: the HTML file.
        template: file of the template; it finds those of this folder too.
        scripts: JavaScript files to embed behind plotly.
        values: variables of the template, among them `title` and `data`, the JSON of the scripts.

    Raises:
        PolyprobeError: plotly is not installed, or the file cannot be written.
    """
    text = (
        make_environment(template.parent)
        .get_template(template.name)
        .render(
            **values,
            plotly=read_plotly(),
            style=(HERE / "report.css").read_text(encoding="utf-8"),
            script="\n".join(path.read_text(encoding="utf-8") for path in scripts),
        )
    )
    write_text(Path(output), text, "choose another --output")


def make_environment(folder: Path = HERE) -> Environment:
    """Return Jinja2 with autoescape, our templates, and filters for figures."""
    environment = Environment(
        loader=FileSystemLoader([folder, HERE]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {
        "ensure_ascii": False,
        "separators": (",", ":"),
        "allow_nan": False,
    }
    environment.filters |= {
        "number": number,
        "interval": format_interval,
        "p_value": format_p_value,
        "percent": lambda value: "–" if value is None else f"{100 * value:.1f} %",
        "relations": list_relations,
        "thousands": lambda value: f"{value:,}",
    }
    return environment


def read_plotly() -> str:
    """Return the source of plotly.js."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise missing("the report", "plotly") from None
    return get_plotlyjs()
