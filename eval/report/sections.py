"""Tables and lists of the report, as data for its templates."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

from polyprobe.eval.results.figures import HEADLINE, HEADLINE_PAIRS, JOINT, SEPARATE
from polyprobe.eval.results.table import interval, list_left_out, number
from polyprobe.eval.run.settings import Settings

MEASURES = {figure.name: figure.title for figure in HEADLINE_PAIRS}
TERMS = [
    *((figure.title, figure.says) for figure in HEADLINE),
    ("tie", "Several candidates with the best score; the answers count as neither equal nor not."),
]
PAIRS = 10  # at most, in each list of pairs
_WITH_CHANCE = [figure for figure in HEADLINE if callable(figure.chance)]


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
        """Return accuracy and its interval by language, then chance."""
        bounds = self.results.get("intervals", {}).get("accuracy", {})
        accuracy = self.results["accuracy"]
        rows = [[x, number(accuracy[x]), interval(bounds.get(x))] for x in accuracy]
        return [*rows, ["chance", number(self.results["chance"]["accuracy"]), ""]]

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
        return [[f.title, f.says, number(value), interval(ci)] for f, value, ci in found]

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


def compare_parts(parts: Sequence[RunPart]) -> dict[str, Any]:
    """Return the table that compares several runs: `head` and `rows`."""
    head = ["run", "data", "scoring", "languages", "facts", *(f.title for f in HEADLINE)]
    rows = [
        [
            part.name,
            part.settings.data_name,
            part.settings.scoring,
            str(len(part.results["languages"])),
            f"{part.results['n_queries']:,}",
            *(number(part.results["mean"][figure.name]) for figure in HEADLINE),
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
        "facts": {(p.settings.limit, p.settings.sample, p.results["n_queries"]) for p in parts},
        "scoring": {(p.settings.scoring, p.settings.bos) for p in parts},
    }
    return [name for name, values in asked.items() if len(values) > 1]
