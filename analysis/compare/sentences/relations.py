"""Changes by relation, and what goes with the change of recall (Fluent-mLAMA, section 5.4).

The paper's table 5 has mean changes over relations, and Pearson's r between the change of recall@1
and that of quality estimation over relations; figure 2 has the points. It reports that the prompts'
log-probabilities and chrF do not go with recall.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table
from scipy.stats import pearsonr

from polyprobe.report.format import format_p_value, number

RECALL = "recall@1"
FEWEST = 3  # relations for a correlation


class Correlation(NamedTuple):
    """Pearson's r of a figure with the change of recall@1 over relations.

    Attributes:
        n: relations in which the figure is defined.
        r: None with fewer than 3 relations, or without any variation.
        p: two-sided, of Student's t with n - 2 degrees of freedom.
        ci: 95% interval of Fisher's z; None below 4 relations.
    """

    n: int
    r: float | None = None
    p: float | None = None
    ci: list[float] | None = None


class ByRelation(NamedTuple):
    """The changes of one language, other wording less reference, whatever the order of the runs.

    Attributes:
        n_queries: rows by relation.
        figures: figure → relation → mean over its rows; None without any. `chrF` is no change but
            the similarity of the other wording to the reference.
        means: figure → unweighted mean over the relations where it is defined.
        correlations: figure but recall@1 → its correlation with the change of recall@1.
    """

    n_queries: dict[str, int]
    figures: dict[str, dict[str, float | None]]
    means: dict[str, float | None]
    correlations: dict[str, Correlation]

    def as_json(self) -> dict[str, Any]:
        """Return all parts by name."""
        found = {name: row._asdict() for name, row in self.correlations.items()}
        return {**self._asdict(), "correlations": found}


def split_by_relation(
    relations: Sequence[str], values: Mapping[str, np.ndarray], languages: Sequence[str]
) -> dict[str, ByRelation]:
    """Return each language's changes.

    Args:
        relations: of each row.
        values: by figure, of each row and language [rows, L]; NaN where not known.
        languages: L names.
    """
    names = list(dict.fromkeys(relations))
    marks = np.array([[relation == name for relation in relations] for name in names])
    counts = dict(zip(names, marks.sum(axis=1).tolist(), strict=True))
    return {
        language: _describe(
            counts, {x: _mean(table[:, place], marks) for x, table in values.items()}
        )
        for place, language in enumerate(languages)
    }


def _describe(counts: dict[str, int], found: Mapping[str, np.ndarray]) -> ByRelation:
    known = {name: part for name, part in found.items() if not np.isnan(part).all()}
    figures = {
        name: dict(zip(counts, map(_defined, part.tolist()), strict=True))
        for name, part in known.items()
    }
    means = {name: float(np.nanmean(part)) for name, part in known.items()}
    others = {
        name: correlate(known[RECALL], part) for name, part in known.items() if name != RECALL
    }
    return ByRelation(counts, figures, dict(means), others)


def _mean(column: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """Return the mean of the known values of each relation [relations], NaN without any."""
    known = ~np.isnan(column)
    n = (marks & known).sum(axis=1)
    totals = (marks * np.where(known, column, 0)).sum(axis=1)
    return np.divide(totals, n, out=np.full(len(marks), np.nan), where=n > 0)


def correlate(one: np.ndarray, other: np.ndarray) -> Correlation:
    """Return Pearson's r over the relations in which both are defined."""
    both = ~(np.isnan(one) | np.isnan(other))
    x, y = one[both], other[both]
    if len(x) < FEWEST or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Correlation(len(x))
    found = pearsonr(x, y)
    bounds = found.confidence_interval(0.95) if len(x) > FEWEST else None
    ci = None if bounds is None else [float(bounds.low), float(bounds.high)]
    return Correlation(len(x), float(found.statistic), float(found.pvalue), ci)


def relations_table(language: str, difference: str, found: ByRelation) -> Table:
    """Return the changes for a rich console: relations, their mean, r with recall@1, p and n."""
    table = Table(title=f"{language}, by relation: {difference}", header_style="bold")
    for name, justify in (("relation", "left"), ("rows", "right")):
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for name in found.figures:
        table.add_column(name, justify="right", overflow="fold", min_width=7)
    for row in list_lines(found):
        if row[0] == "mean":
            table.add_section()
        table.add_row(*row)
    return table


def list_lines(found: ByRelation) -> Iterator[list[str]]:
    """Yield the table's lines."""
    for relation, n in found.n_queries.items():
        yield [relation, f"{n:,}", *(number(part[relation]) for part in found.figures.values())]
    yield ["mean", f"{sum(found.n_queries.values()):,}", *map(number, found.means.values())]
    pairs = [found.correlations.get(name) for name in found.figures]
    yield [f"r with {RECALL}", "", *(number(one.r) if one else "" for one in pairs)]
    yield ["p", "", *(format_p_value(one.p) if one else "" for one in pairs)]
    for place, side in enumerate(("from", "to")):
        ends = (one and (one.ci[place] if one.ci else None) for one in pairs)
        cells = (number(end) if one else "" for one, end in zip(pairs, ends, strict=True))
        yield [f"95% {side}", "", *cells]
    yield ["relations", "", *(f"{one.n}" if one else "" for one in pairs)]


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else value
