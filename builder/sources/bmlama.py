"""BMLAMA: as published, repaired, and as a source of facts.

The repaired configurations are made of the published ones (`polyprobe.builder.repair`). Wikidata
ids come from mParaRel, whose tuples BMLAMA was made of; what else is true from X-FACTR's facts too.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import polars as pl

from ..facts import ALIASES, FACTS, LABELS, PROMPTS, TEMPLATES, Facts, empty, read_source
from ..labels import count_contradictions, settle_labels
from ..progress import report
from ..repair.repair import Linked, link, repair
from ..table import Row
from ..truths import learn, read_truths
from .bmlama_card import describe
from .bmlama_files import PUBLISHED, REPOSITORY, list_paths, read_rows
from .bmlama_templates import list_replacements, recover_templates

__all__ = ["REPOSITORY", "describe"]

CONFIGS = (*PUBLISHED, "17-repaired", "53-repaired")
DEFAULT_CONFIG = "17"
LANGUAGES = tuple(list_paths("53"))
LICENCE = (
    "Apache-2.0 by its repository; derived from mLAMA, which is CC-BY-NC-4.0: the stricter one "
    "holds"
)


def build(config: str, mirror: Path | None = None) -> dict[str, list[Row]]:
    """Return {language: rows} of a configuration, in the published order."""
    if config in PUBLISHED:
        return read_rows(config, mirror)
    published = config.removesuffix("-repaired")
    linked = read_linked(mirror)
    knowledge = learn(read_truths(mirror))
    others = [linked[other] for other in PUBLISHED if other != published]
    rows, dropped = repair(linked[published], others, knowledge, list_replacements(published))
    total = len(linked[published].queries)
    report(f"{config}: {len(dropped)} of {total} published rows left out, for want of distractors")
    return rows


@lru_cache(maxsize=1)  # the two repaired configurations are built one after the other
def read_linked(mirror: Path | None = None) -> dict[str, Linked]:
    """Return {published configuration: its rows with the Wikidata ids of mParaRel}."""
    rows = {config: read_rows(config, mirror) for config in PUBLISHED}
    languages = sorted({language for parts in rows.values() for language in parts})
    known = read_source("mpararel", mirror, languages)
    return {config: link(parts, known) for config, parts in rows.items()}


def read_facts(mirror: Path | None, languages: Sequence[str] | None = None) -> Facts:
    """Return the linked facts of both configurations, their labels and templates.

    Of several labels for an entity in a language (two relations may differ) most rows decide.
    """
    linked = read_linked(mirror).values()
    triples = [
        (query.relation, query.subject_id, query.answer)
        for part in linked
        for query in part.queries
        if query.subject_id
    ]
    facts = pl.DataFrame(triples, schema=FACTS, orient="row")
    asked = LANGUAGES if languages is None else languages
    named = pl.concat(
        name_entities(part, language)
        for part in linked
        for language in asked
        if language in part.rows
    )
    unlinked = sum(not query.subject_id for part in linked for query in part.queries)
    return Facts(
        facts=facts.unique().sort(facts.columns),
        labels=settle_labels(named),
        aliases=empty(ALIASES),
        templates=read_templates(mirror).filter(pl.col("language").is_in(asked)),
        prompts=empty(PROMPTS),
        repairs={
            "rows left out, since no Wikidata fact was found": unlinked,
            "entities with several labels in a language": count_contradictions(named),
        },
    )


def name_entities(linked: Linked, language: str) -> pl.DataFrame:
    """Return the label of every row's subject and answer in one language, with repetitions."""
    named = [
        pair
        for row, query in zip(linked.rows[language], linked.queries, strict=True)
        if query.subject_id
        for pair in (
            (language, query.subject_id, row.subject),
            (language, query.answer, row.answer_forms[0]),
        )
    ]
    return pl.DataFrame(named, schema=LABELS, orient="row")


def read_templates(mirror: Path | None = None) -> pl.DataFrame:
    """Return the templates of all 53 languages, those of 17 first, ours for the wrong ones."""
    rows = [recover_templates(config, read_rows(config, mirror)) for config in PUBLISHED]
    table = pl.DataFrame([*rows[0], *rows[1]], schema=TEMPLATES, orient="row")
    first = table.unique(["language", "relation"], keep="first", maintain_order=True)
    return first.sort("language", "relation")
