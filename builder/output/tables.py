"""The tables of a card, in Markdown."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from polyprobe.schema.columns import DESCRIPTIONS


class SplitSize(NamedTuple):
    """One language of a configuration: its file, its rows, and its sizes in bytes."""

    name: str
    path: str
    rows: int
    bytes_on_disk: int
    bytes_in_memory: int


class Config(NamedTuple):
    """A configuration on disk: its splits, and counts of its queries.

    `relations` counts queries by relation, `sizes` by number of candidates; both are the same in
    every language and read from the first. `repairs` counts queries with a code in at least one
    language. `notes` describe the build; they are empty if the dataset depends only on its source.
    """

    name: str
    splits: list[SplitSize]
    schema: pa.Schema
    relations: Counter[str]
    sizes: Counter[int]
    repairs: Counter[str]
    notes: dict[str, Any]


def columns_table(configs: Sequence[Config]) -> str:
    """Return the table of columns with their types and descriptions."""
    fields = {field.name: field for config in configs for field in config.schema}
    rows = [
        (f"`{name}`", f"`{field.type}`".replace("element: ", ""), DESCRIPTIONS[name])
        for name, field in fields.items()
    ]
    return markdown_table(("column", "type", "description"), rows)


def statistics_table(configs: Sequence[Config]) -> str:
    """Return one line for each configuration: languages, queries, relations, candidates."""
    head = ("configuration", "languages", "queries", "relations", "candidates", "fewest", "most")
    return markdown_table(head, [describe_statistics(config) for config in configs])


def describe_statistics(config: Config) -> tuple[str, ...]:
    """Return the configuration's line, for one language; `candidates` is the mean."""
    queries = config.sizes.total()
    candidates = sum(size * count for size, count in config.sizes.items()) / queries
    return (
        f"`{config.name}`",
        f"{len(config.splits)}",
        f"{queries:,}",
        f"{len(config.relations)}",
        f"{candidates:.2f}",
        f"{min(config.sizes)}",
        f"{max(config.sizes)}",
    )


def relations_table(configs: Sequence[Config], names: dict[str, str]) -> str:
    """Return one line for each relation: its number of queries in each configuration."""
    order = dict.fromkeys(relation for config in configs for relation in config.relations)
    rows = [
        (
            f"[{relation}](https://www.wikidata.org/wiki/Property:{relation})",
            names.get(relation, ""),
            *(f"{config.relations[relation]}" for config in configs),
        )
        for relation in order
    ]
    return markdown_table(("relation", "name", *(f"`{c.name}`" for c in configs)), rows)


def repairs_table(configs: Sequence[Config], meanings: dict[str, str]) -> str:
    """Return one line for each code: the number of queries with it in at least one language."""
    repaired = [config for config in configs if config.repairs]
    if not repaired:
        return "None of the configurations here is repaired."
    rows = [
        (f"`{code}`", meaning, *(f"{config.repairs[code]:,}" for config in repaired))
        for code, meaning in meanings.items()
    ]
    return markdown_table(("code", "what", *(f"`{c.name}`" for c in repaired)), rows)


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown, with bars in cells escaped."""
    lines = [head, ("---",) * len(head), *rows]
    safe = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in safe)
