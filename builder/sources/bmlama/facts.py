"""BMLAMA as a source of facts, with the templates of `files.read_templates`.

Wikidata ids come from mParaRel. BMLAMA was made from mParaRel's tuples.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from polyprobe.builder.facts import FACTS, LABELS, TEMPLATES, Facts
from polyprobe.builder.facts.labels import choose_labels, count_contradictions

from .files import REPOSITORY, list_paths, read_templates
from .linked import Linked, read_linked

__all__ = ["REPOSITORY", "read_templates"]

LANGUAGES = tuple(list_paths("53"))
LICENCE = (
    "Apache-2.0 by its repository; derived from mLAMA, which is CC-BY-NC-4.0: the stricter one "
    "holds"
)


def read_facts(mirror: Path | None, languages: Sequence[str] | None = None) -> Facts:
    """Return the linked facts of both configurations, their labels and templates.

    If an entity has several labels in a language, which may differ between relations, the label of
    most rows is taken.
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
    labels = [name for part in linked for name in name_entities(part, asked)]
    named = pl.DataFrame(labels, schema=LABELS, orient="row")
    templates = [line for line in read_templates(mirror) if line[0] in asked]
    unlinked = sum(not query.subject_id for part in linked for query in part.queries)
    return Facts(
        facts=facts.unique().sort(facts.columns),
        labels=choose_labels(named),
        templates=pl.DataFrame(templates, schema=TEMPLATES, orient="row"),
        repairs={
            "rows left out, since no Wikidata fact was found": unlinked,
            "entities with several labels in a language": count_contradictions(named),
        },
    )


def name_entities(linked: Linked, languages: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the LABELS of all linked subjects and answers in some languages, with repetitions."""
    for language in (name for name in languages if name in linked.rows):
        for row, query in zip(linked.rows[language], linked.queries, strict=True):
            if query.subject_id:
                yield language, query.subject_id, row.subject
                yield language, query.answer, row.answer_forms[0]
