"""What a source knows, in one form for all sources: facts, labels, aliases, templates, prompts.

An entity is named by its Wikidata id; where a source has none, by `SOURCE:NAME`, an id that is
stable over versions and used nowhere else.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import polars as pl

from .names import unknown

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

FACT_SOURCES = {
    "bmlama": "polyprobe.builder.sources.bmlama",
    "fluent-mlama": "polyprobe.builder.sources.fluent_mlama",
    "mlama": "polyprobe.builder.sources.mlama",
    "mlama-hub": "polyprobe.builder.sources.mlama_hub",
    "mpararel": "polyprobe.builder.sources.mpararel",
    "polyglot": "polyprobe.builder.sources.polyglot",
    "xfactr": "polyprobe.builder.sources.xfactr",
}


class Facts(NamedTuple):
    """What a source knows.

    - `facts` (FACTS): each true triple once, whatever the languages it was found in.
    - `labels` (LABELS): at most one label for a language and an id.
    - `aliases` (ALIASES): further names; a label may stand among them.
    - `templates` (TEMPLATES): `[X]` and `[Y]` exactly once each; those of a language and relation
      in the order of preference.
    - `prompts` (PROMPTS): whole sentences with exactly one `[Y]`, for sources that have no
      templates or more than them; `form` is the object as it stood in the sentence.
    - `repairs`: {what was repaired or left out: how often}.

    Every table is free of duplicates and sorted by its columns, save that templates of one
    language and relation keep their order.
    """

    facts: pl.DataFrame
    labels: pl.DataFrame
    aliases: pl.DataFrame
    templates: pl.DataFrame
    prompts: pl.DataFrame
    repairs: dict[str, int]


def load_source(name: str) -> ModuleType:
    """Return the module that reads the source `name`.

    It has LICENCE (what the source states, and what it derives from), LANGUAGES (codes),
    REPOSITORY (or URL) and `read_facts(mirror, languages=None) -> Facts`.
    """
    if name not in FACT_SOURCES:
        raise unknown("source", name, "polyprobe", FACT_SOURCES)
    return import_module(FACT_SOURCES[name])


def read_source(
    name: str, mirror: Path | None = None, languages: Sequence[str] | None = None
) -> Facts:
    """Return what the source `name` knows in the languages given, in all of its own without."""
    source = load_source(name)
    for language in languages or ():
        if language not in source.LANGUAGES:
            raise unknown("language", language, name, source.LANGUAGES)
    return source.read_facts(mirror, languages)


def empty(columns: dict[str, type[pl.DataType]]) -> pl.DataFrame:
    """Return a table without rows, for what a source does not have."""
    return pl.DataFrame(schema=columns)
