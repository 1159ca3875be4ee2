"""The content of a source, in one form for all sources: facts, labels, aliases, templates, prompts.

An entity is named by its Wikidata id; where a source has none, by `SOURCE:NAME`, an id that is
stable over versions and used nowhere else.
"""

import re
from typing import NamedTuple

import polars as pl

FACTS = {"relation": pl.String, "subject_id": pl.String, "object_id": pl.String}
LABELS = {"language": pl.String, "id": pl.String, "label": pl.String}
ALIASES = {"language": pl.String, "id": pl.String, "alias": pl.String}
TEMPLATES = {
    "language": pl.String,
    "relation": pl.String,
    "template_id": pl.String,
    "template": pl.String,
}
PROMPTS = {"language": pl.String, **FACTS, "prompt": pl.String, "form": pl.String}


class Facts(NamedTuple):
    """The content of a source.

    - `facts` (FACTS): each true triple once, whatever the languages it was found in.
    - `labels` (LABELS): at most one label for a language and an id.
    - `aliases` (ALIASES): further names, possibly including the label.
    - `templates` (TEMPLATES): `[X]` and `[Y]` exactly once each; those of a language and relation
      in the order of preference.
    - `prompts` (PROMPTS): whole sentences with exactly one `[Y]`, for sources that have no
      templates or more than them; `form` is the object as it was in the sentence.
    - `repairs`: {what was repaired or excluded: how often}.

    Every table is free of duplicates and sorted by its columns, save that templates of one
    language and relation keep their order.
    """

    facts: pl.DataFrame
    labels: pl.DataFrame
    aliases: pl.DataFrame
    templates: pl.DataFrame
    prompts: pl.DataFrame
    repairs: dict[str, int]


def empty(columns: dict[str, type[pl.DataType]]) -> pl.DataFrame:
    """Return a table without rows, for what a source does not have."""
    return pl.DataFrame(schema=columns)


def is_template(text: str) -> bool:
    """Return whether `[X]` and `[Y]` are in the text once each, and no further bracket."""
    return sorted(re.findall(r"\[[XY]\]|[][]", text)) == ["[X]", "[Y]"]
