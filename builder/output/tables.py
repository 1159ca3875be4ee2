"""Tables of a card in Markdown, and texts with tables from Jinja templates."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.resources import files
from statistics import fmean
from typing import Any

from jinja2 import Environment, StrictUndefined

from polyprobe.schema.columns import DESCRIPTIONS, FLAGS

from .config import Config

MOST_COLUMNS = 24  # configurations beside each other; more are summed up
BASELINE = """\
*Chance* and *frequency* are accuracies without a model: of random rankings, and of candidates \
ranked by how many other facts of the relation they answer. Compare accuracy with the larger one."""


def markdown_table(head: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table in Markdown, with commas in numbers and bars in cells escaped."""
    texts = [[f"{x:,}" if isinstance(x, int) else str(x) for x in row] for row in rows]
    lines = ([x.replace("|", "\\|") for x in line] for line in (head, ("---",) * len(head), *texts))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def render_text(package: str, file: str, **values: Any) -> str:
    """Fill in a Jinja template of a package.

    `HEAD | table(rows)` is a table in Markdown, and `number | count` has commas.
    """
    environment = Environment(undefined=StrictUndefined)
    environment.filters |= {"table": markdown_table, "count": "{:,}".format}
    template = files(package).joinpath(file).read_text(encoding="utf-8")
    return environment.from_string(template).render(**values)


def columns_table(configs: Sequence[Config]) -> str:
    """Return the table of columns with their types and descriptions."""
    fields = {field.name: field for config in configs for field in config.schema}
    rows = [
        (f"`{name}`", f"`{field.type}`".replace("element: ", ""), DESCRIPTIONS[name])
        for name, field in fields.items()
    ]
    return markdown_table(("column", "type", "description"), rows)


def statistics_table(configs: Sequence[Config]) -> str:
    """Return one line for each configuration: queries of one language, mean of candidates."""
    counts = ("languages", "queries", "relations", "candidates", "fewest", "most")
    head = ("configuration", *counts, "chance", "frequency")
    rows = [
        (
            f"`{config.name}`",
            len(config.splits),
            config.sizes.total(),
            len(config.relations),
            f"{fmean(config.sizes.elements()):.2f}",
            min(config.sizes),
            max(config.sizes),
            _decimals(config.baseline.chance),
            _decimals(config.baseline.frequency),
        )
        for config in configs
    ]
    return f"{markdown_table(head, rows)}\n\n{BASELINE}"


def relations_table(configs: Sequence[Config], names: dict[str, str]) -> str:
    """Return one line for each relation: its number of queries in each configuration.

    More than MOST_COLUMNS configurations are summed up.
    """
    order = dict.fromkeys(relation for config in configs for relation in config.relations)
    if len(configs) > MOST_COLUMNS:
        return sum_relations([config.relations for config in configs], list(order), names)
    rows = [
        (
            link_relation(relation),
            names.get(relation, ""),
            *(f"{config.relations[relation]}" for config in configs),
        )
        for relation in order
    ]
    return markdown_table(("relation", "name", *(f"`{c.name}`" for c in configs)), rows)


def sum_relations(
    counts: Sequence[Counter[str]], order: Sequence[str], names: dict[str, str]
) -> str:
    """Return one line for each relation: its configurations and their numbers of queries."""
    rows = []
    for relation in order:
        numbers = [count[relation] for count in counts if relation in count]
        figures = (len(numbers), sum(numbers), min(numbers), max(numbers))
        rows.append((link_relation(relation), names.get(relation, ""), *figures))
    head = ("relation", "name", "configurations", "queries", "fewest", "most")
    return markdown_table(head, rows)


def link_relation(relation: str) -> str:
    """Return a relation in Markdown, a property of Wikidata with a link.

    >>> link_relation("P36"), link_relation("place_of_birth")
    ('[P36](https://www.wikidata.org/wiki/Property:P36)', 'place_of_birth')
    """
    is_property = re.fullmatch(r"P\d+", relation)
    return (
        f"[{relation}](https://www.wikidata.org/wiki/Property:{relation})"
        if is_property
        else relation
    )


def repairs_table(configs: Sequence[Config], meanings: dict[str, str]) -> str:
    """Return one line for each code: the number of queries with it in at least one language."""
    repaired = [config for config in configs if config.repairs]
    if not repaired:
        return "No configuration here is repaired."
    rows = [
        (f"`{code}`", meaning, *(config.repairs[code] for config in repaired))
        for code, meaning in meanings.items()
    ]
    return markdown_table(("code", "change", *(f"`{c.name}`" for c in repaired)), rows)


def flags_table(configs: Sequence[Config]) -> str:
    """Return one line for each flag: its number of queries in each configuration with flags."""
    flagged = [config for config in configs if config.flags]
    rows = [
        (f"`{flag}`", meaning, *(config.flags[flag] for config in flagged))
        for flag, meaning in FLAGS.items()
        if any(config.flags[flag] for config in flagged)
    ]
    return markdown_table(("flag", "meaning", *(f"`{c.name}`" for c in flagged)), rows)


def _decimals(value: float | None) -> str:
    """Return a figure with three decimals, `–` for None."""
    return "–" if value is None else f"{value:.3f}"
