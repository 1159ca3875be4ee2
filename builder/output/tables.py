"""Tables of a card in Markdown, and texts with tables from Jinja templates."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.resources import files
from statistics import fmean
from typing import Any

from jinja2 import Environment, StrictUndefined

from polyprobe.system.files import read_toml
from polyprobe.system.text import clean, escape_markdown

from .config import Config

TEXTS = read_toml(__package__, "columns.toml")
DESCRIPTIONS, FLAGS = TEXTS["columns"], TEXTS["flags"]
MOST_COLUMNS = 24  # configurations beside each other; more are summed up


def markdown_table(head: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table in Markdown, with commas in numbers and bars in cells escaped."""
    texts = [[f"{x:,}" if isinstance(x, int) else str(x) for x in row] for row in rows]
    rule = ("---",) * len(head)
    lines = ([re.sub(r"(?<!\\)\|", r"\|", clean(x)) for x in line] for line in (head, rule, *texts))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def render_text(package: str, file: str, **values: Any) -> str:
    """Fill in a Jinja template of a package."""
    environment = Environment(undefined=StrictUndefined)
    # `HEAD | table(rows)` is a table in Markdown, and `number | count` has commas.
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
    rows = []
    for config in configs:
        of_config = (len(config.splits), config.sizes.total(), len(config.relations))
        sizes = (f"{fmean(config.sizes.elements()):.2f}", min(config.sizes), max(config.sizes))
        shares = ("–" if share is None else f"{share:.3f}" for share in config.baseline[1:3])
        rows.append((f"`{config.name}`", *of_config, *sizes, *shares))
    return f"{markdown_table(head, rows)}\n\n{TEXTS['baseline']}"


def relations_table(configs: Sequence[Config], names: dict[str, str]) -> str:
    """Return one line for each relation: its number of queries in each configuration."""
    columns = [f"`{config.name}`" for config in configs]
    is_sum = len(configs) > MOST_COLUMNS
    if is_sum:
        columns = ["configurations", "queries", "fewest", "most"]
    rows = []
    for relation in dict.fromkeys(name for config in configs for name in config.relations):
        place = f"https://www.wikidata.org/wiki/Property:{relation}"
        title = escape_markdown(relation)
        title = f"[{title}]({place})" if re.fullmatch(r"P\d+", relation) else title
        name = escape_markdown(names.get(relation, ""))
        numbers = [c.relations[relation] for c in configs if relation in c.relations or not is_sum]
        # Numbers of single configurations are text, as they have no commas.
        sums = (len(numbers), sum(numbers), min(numbers), max(numbers))
        rows.append((title, name, *(sums if is_sum else map(str, numbers))))
    return markdown_table(("relation", "name", *columns), rows)


def flags_table(configs: Sequence[Config]) -> str:
    """Return one line for each flag: its number of queries in each configuration with flags."""
    counts = {config.name: config.flags for config in configs if config.flags}
    present = set().union(*counts.values())
    meanings = {flag: meaning for flag, meaning in FLAGS.items() if flag in present}
    return codes_table(("flag", "meaning"), counts, meanings)


def codes_table(head: Sequence[str], counts: dict[str, Counter[str]], texts: dict[str, str]) -> str:
    """Return one line for each code: its number of queries in each configuration."""
    rows = [(f"`{x}`", text, *(of[x] for of in counts.values())) for x, text in texts.items()]
    return markdown_table((*head, *(f"`{name}`" for name in counts)), rows)
