"""The templates of a dataset: how many a relation has, and how different they are.

The figures of table 1 of mParaRel (Fierro and Søgaard, arXiv:2203.11552). The paper does not define
its string distance; the mean Levenshtein distance gives its value, 13.9.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import combinations
from statistics import fmean
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa
from rapidfuzz.distance import Levenshtein

from polyprobe.builder.facts import SUBJECT
from polyprobe.report.finding import Cell, Column, Finding, Part, Role, Table
from polyprobe.system.messages import PolyprobeError

NEEDED = ("relation", "template_id", "prompt", "subject")
ROWS = 20  # of a template, from which it is read
COLUMNS = (
    Column("", Role.NAME),
    *(Column(name, Role.COUNT) for name in ("relations", "templates", "fewest", "most")),
    Column("mean"),
    Column("edit distance", Role.RATIO),
)
MEANING = (
    "fewest, most, mean: templates of a relation; edit distance: Levenshtein distance of two "
    "templates of a relation, in characters with [X] and [Y], mean over all such pairs"
)


class TemplateCounts(NamedTuple):
    """The templates of one language, or means over languages."""

    relations: float
    templates: float
    fewest: int  # of a relation, as `most` and `mean`
    most: int
    mean: float
    distance: float | None  # mean edit distance, None if no relation has two templates
    unread: int  # the label of the subject is not in the prompt


def tally_templates(table: pa.Table, place: str) -> TemplateCounts:
    """Count the templates of a split, which has the columns NEEDED; `place` names it in errors."""
    for column in NEEDED:
        if column not in table.column_names:
            raise PolyprobeError(f"{place} has no column {column!r}; --templates needs it")
    if not table.num_rows:
        raise PolyprobeError(f"{place} has no rows; build the dataset again")
    # The templates of each `template_id` of a relation; '' for unread ones.
    frame = pl.DataFrame(pl.from_arrow(table.select(NEEDED)))
    some = frame.group_by("relation", "template_id", maintain_order=True).head(ROWS)
    collected: dict[str, list[str]] = {}
    for (relation, _), part in some.group_by("relation", "template_id", maintain_order=True):
        pairs = part.select("prompt", "subject").iter_rows()
        collected.setdefault(str(relation), []).append(read_template(pairs))
    sizes = [len(texts) for texts in collected.values()]
    # Unread templates count in all numbers but this.
    legible = ([text for text in texts if text] for texts in collected.values())
    distances = [
        Levenshtein.distance(*pair) for texts in legible for pair in combinations(texts, 2)
    ]
    ends, mean = (min(sizes), max(sizes)), fmean(sizes)
    distance = fmean(distances) if distances else None
    unread = sum(not text for texts in collected.values() for text in texts)
    return TemplateCounts(len(sizes), sum(sizes), *ends, mean, distance, unread)


def read_template(rows: Iterable[tuple[str, str]]) -> str:
    """Return the template of pairs (prompt, label of the subject), '' if they have none in common.

    >>> read_template([("is is in [Y]", "is"), ("Ulm is in [Y]", "Ulm")])
    '[X] is in [Y]'
    """
    # The prompt with each of its occurrences of the subject replaced, for each row.
    forms = []
    for prompt, subject in rows:
        matches = re.finditer(f"(?={re.escape(subject)})", prompt if subject else "")
        places = [match.start() for match in matches]
        forms.append({prompt[:x] + SUBJECT + prompt[x + len(subject) :] for x in places})
    return min(set.intersection(*forms) or {""})


def average_counts(counts: Mapping[str, TemplateCounts]) -> TemplateCounts:
    """Return the means over languages; fewest and most of all, `mean` over all relations."""
    relations, templates, fewest, largest, _, every, unread = zip(*counts.values(), strict=True)
    distances = [distance for distance in every if distance is not None]
    distance = fmean(distances) if distances else None
    ends, mean = (min(fewest), max(largest)), sum(templates) / sum(relations)
    return TemplateCounts(fmean(relations), fmean(templates), *ends, mean, distance, sum(unread))


def templates_json(counts: Mapping[str, TemplateCounts]) -> dict[str, dict]:
    """Return the counts by language, and `mean` over languages."""
    parts = {**counts, "mean": average_counts(counts)}
    return {name: part._asdict() for name, part in parts.items()}


def make_templates_finding(counts: Mapping[str, TemplateCounts], name: str) -> Finding:
    """Make the finding of a dataset: a line for each language, and their means."""
    means = average_counts(counts)
    unread = f"; {means.unread} templates cannot be read: no subject" if means.unread else ""
    rows: list[list[Any]] = [[language, *part[:-1]] for language, part in counts.items()]
    if len(counts) > 1:
        relations, templates, *rest, _ = means
        rows.append(["all", *(Cell(x, Role.RATIO) for x in (relations, templates)), *rest])
    part = Part("Templates", [Table(COLUMNS, rows)])
    return Finding(f"templates of {name}", [part], notes=[MEANING + unread])
