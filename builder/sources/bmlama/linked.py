"""The rows of BMLAMA, linked to Wikidata."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import polars as pl

from polyprobe.builder.facts import Facts
from polyprobe.builder.facts.linking import link_rows
from polyprobe.builder.sources import read_source

from .entities import Entity, Rows, collect_entities, read_queries
from .files import PUBLISHED, read_rows
from .queries import PublishedQuery


class Linked(NamedTuple):
    """The rows of a configuration, linked.

    - `rows`: {language: published rows}.
    - `queries`: each row as ids.
    - `entities`: {relation: {id: entity}}.
    - `known`: all known labels (`facts.LABELS`).
    """

    rows: Rows
    queries: list[PublishedQuery]
    entities: Mapping[str, Mapping[str, Entity]]
    known: pl.DataFrame


def link(rows: Rows, known: Facts) -> Linked:
    """Return the rows with Wikidata ids from `known`."""
    links = link_rows(rows, known)
    entities, answers = collect_entities(rows, links, known)
    queries = read_queries(rows, links, entities, answers)
    return Linked(rows, queries, entities, known.labels)


@lru_cache(maxsize=1)  # two repaired configurations are built in succession
def read_linked(mirror: Path | None = None) -> dict[str, Linked]:
    """Return {published configuration: its rows with Wikidata ids from mParaRel}."""
    rows = {config: read_rows(config, mirror) for config in PUBLISHED}
    languages = sorted({language for parts in rows.values() for language in parts})
    known = read_source("mpararel", mirror, languages)
    return {config: link(parts, known) for config, parts in rows.items()}
