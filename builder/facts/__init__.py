"""The common form of all sources: facts, labels, templates and prompts.

An entity is identified by its Wikidata id, or by `SOURCE:NAME` if the source has none for it. The
latter is stable over versions and unique to the source.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

SUBJECT = "[X]"  # place of the subject in a template
FACTS = {"relation": pl.String, "subject_id": pl.String, "object_id": pl.String}
LABELS = {"language": pl.String, "id": pl.String, "label": pl.String}
TEMPLATES = dict.fromkeys(("language", "relation", "template_id", "template"), pl.String)
PROMPTS = {"language": pl.String, **FACTS, "prompt": pl.String, "form": pl.String}


class Fact(NamedTuple):
    """A true triple, by ids."""

    relation: str
    subject_id: str
    object_id: str

    @property
    def id(self) -> str:
        """The fact's id, the same in every language and version: `P36:Q142:Q90`."""
        return ":".join(self)


class Facts(NamedTuple):
    """The content of a source.

    - `facts` (FACTS): each true triple once, independent of language.
    - `labels` (LABELS): at most one label for each language and id.
    - `repairs`: {name of a repair or exclusion: count}.
    - `templates` (TEMPLATES): `[X]` and `[Y]` exactly once each, in order of preference within a
      language and relation.
    - `prompts` (PROMPTS): whole sentences with exactly one `[Y]`, if the source has them; `form` is
      the object's form in the sentence.

    Tables have no duplicates and are sorted by their columns, except that the templates of one
    language and relation keep their order.
    """

    facts: pl.DataFrame
    labels: pl.DataFrame
    repairs: dict[str, int]
    templates: pl.DataFrame = pl.DataFrame(schema=TEMPLATES)
    prompts: pl.DataFrame = pl.DataFrame(schema=PROMPTS)


def count_changed(before: pl.DataFrame, after: pl.DataFrame, columns: Sequence[str]) -> int:
    """Count the rows in which one of the columns differs."""
    differs = pl.any_horizontal(before[column].ne_missing(after[column]) for column in columns)
    return int(before.select(differs).to_series().sum())


def is_template(text: str) -> bool:
    """Return whether the text has `[X]` and `[Y]` once each and no other brackets."""
    return sorted(re.findall(r"\[[XY]\]|[][]", text)) == ["[X]", "[Y]"]
