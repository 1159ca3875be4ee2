"""Compare three or more wordings of one configuration with the first one, side by side."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from rich.table import Table

from polyprobe.analysis.figures.options import resolve_clusters
from polyprobe.metrics.joint.significance import Paired
from polyprobe.report.format import format_p_value, number
from polyprobe.report.wordings import as_json, list_notes, list_rows, relations_tables
from polyprobe.schema.identity import key_rows
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.rows import ALL_ROWS
from polyprobe.system.errors import PolyprobeError

from .compare import NOTHING, VersionComparison, Wanted, compare_versions
from .texts import WORDINGS, find_versions
from .texts import split_wording as split


class Several(NamedTuple):
    """Wordings beside their reference; `found` are the comparisons, each other - reference.

    `settings` are those of the tests, and the signatures of the runs.
    `by_relation`: the changes by relation are printed too.
    """

    found: list[VersionComparison]
    settings: dict[str, Any]
    by_relation: bool = False

    @property
    def failures(self) -> list[str]:
        """Return the requested measures that failed, each once."""
        return list(dict.fromkeys(line for found in self.found for line in found.failures))

    def as_json(self) -> dict[str, Any]:
        """Return the reference and, by wording, its comparison."""
        reference = self.found[0].versions.wordings[0]
        wordings = {found.versions.wordings[1]: as_json(found) for found in self.found}
        return {"reference": reference, "settings": self.settings, "wordings": wordings}

    @property
    def correction(self) -> str:
        """Return the correction of the p-values."""
        return str(self.settings["correction"])

    def render(self) -> Iterator[Table | str]:
        """Yield the tables and the notes of each comparison for a rich console."""
        yield values_table(self)
        yield changes_table(self)
        for found in self.found if self.by_relation else ():
            yield from relations_tables(found)
        if "n_resamples" in self.settings:
            drawn, test = self.settings["clusters"], self.settings.get("test", "randomisation")
            unit = "facts" if drawn == "none" else f"{drawn}s"
            yield f"p: {test}, {self.settings['n_resamples']:,} resamples of {unit}"
        for found in self.found:
            yield from (f"{found.versions.wordings[1]}: {line}" for line in list_notes(found))


def compare_several(
    runs: Sequence[Run], wanted: Wanted = NOTHING, by_relation: bool = False, **options: Any
) -> Several:
    """Return the comparison of each wording with the first of `WORDINGS` among them.

    Options are those of `compare_versions`. All runs must have the same rows, so that the reference
    has one value in all comparisons.

    Raises:
        PolyprobeError: runs that are not wordings of one configuration, or have other rows.
    """
    for run in runs:
        if run.settings().kind == "predictions":
            raise PolyprobeError(
                f"more than two runs are compared by rankings; {run.folder} holds free "
                "predictions: compare two at a time"
            )
    named = [split(run) for run in runs]
    wordings = [wording for _, wording in named]
    if len({name for name, _ in named}) > 1 or len({*wordings}) < len(runs):
        got = ", ".join(run.settings().data_name for run in runs)
        ends = ", ".join(f"CONFIG{end}" for end in WORDINGS.values())
        raise PolyprobeError(
            f"more than two runs are compared as wordings of one configuration ({ends}, each also "
            f"with -wide); got {got}"
        )
    reference, *others = sorted(runs, key=lambda run: [*WORDINGS].index(split(run)[1]))
    pairs = [find_versions(other, reference) for other in others]
    found = [compare_versions(pair, wanted, **options) for pair in pairs if pair]
    common = {_common_rows(reference, other, found[0].languages) for other in others}
    if len({(one.n_queries, *one.languages) for one in found}) > 1 or len(common) > 1:
        raise PolyprobeError(
            "the runs have different rows in common with "
            f"{reference.folder}: {', '.join(f'{one.n_queries:,}' for one in found)}; compare two "
            "at a time"
        )
    choice = options.pop("choice", ALL_ROWS)
    settings = {
        "signatures": [run.settings().signature for run in runs],
        "correction": "holm",
        **options,
        "clusters": resolve_clusters(
            reference.read(found[0].languages[0]), options.get("clusters", "auto")
        ),
        **choice.as_json(),
    }
    return Several(found, settings, by_relation)


def _common_rows(
    reference: Run, other: Run, languages: Sequence[str]
) -> frozenset[tuple[str, str, int]]:
    """Return the rows that both runs have, as language, fact and its number."""
    one, two = (
        {(x, *key) for x in languages for key in key_rows(run.read(x)["fact_id"].to_pylist())}
        for run in (reference, other)
    )
    return frozenset(one & two)


def values_table(several: Several) -> Table:
    """Return figures as rows and wordings as columns, the reference first."""
    reference, wordings = _name_wordings(several)
    table = _start_table("value", (reference, *wordings))
    for name, rows in _list_all(several).items():
        known = next(row for row in rows if row)
        values = (number(row.first) if row else "–" for row in rows)
        table.add_row(name, number(known.second), *values)
    return table


def changes_table(several: Several) -> Table:
    """Return figures as rows; each wording's difference from the reference and its p as columns.

    p is corrected over the languages of a figure and a wording. Intervals are in the JSON.
    """
    reference, wordings = _name_wordings(several)
    p = "p" if several.correction == "none" else f"p ({several.correction})"
    heads = (head for name in wordings for head in (f"{name} -\n{reference}", p))
    table = _start_table("difference", heads)
    for name, rows in _list_all(several).items():
        table.add_row(name, *(cell for row in rows for cell in _cells(row)))
    return table


def _name_wordings(several: Several) -> tuple[str, list[str]]:
    named = [found.versions.wordings for found in several.found]
    return named[0][0], [wording for _, wording in named]


def _start_table(first: str, heads: Iterable[str]) -> Table:
    """Return a table whose numbers are never cut; the names of figures fold."""
    table = Table(header_style="bold", highlight=False)
    table.add_column(first, overflow="fold")
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    return table


def _list_all(several: Several) -> dict[str, list[Paired | None]]:
    """Return the rows of each figure, one for each wording; None where it was not measured."""
    by_name: dict[str, list[Paired | None]] = {}
    for place, found in enumerate(several.found):
        for name, row in list_rows(found):
            by_name.setdefault(name, [None] * len(several.found))[place] = row
    return by_name


def _cells(row: Paired | None) -> tuple[str, str]:
    return (number(row.difference), format_p_value(row.p_adjusted)) if row else ("–", "–")
