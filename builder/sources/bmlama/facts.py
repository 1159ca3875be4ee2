"""BMLAMA as a source of facts, with its templates recovered from the prompts.

Wikidata ids come from mParaRel. BMLAMA was made from mParaRel's tuples.
"""

import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import polars as pl

from polyprobe.builder.facts import ALIASES, FACTS, LABELS, PROMPTS, TEMPLATES, Facts, empty
from polyprobe.builder.facts.labels import choose_labels, count_contradictions
from polyprobe.schema.columns import Row

from .files import PUBLISHED, REPOSITORY, list_paths, read_rows
from .linked import Linked, read_linked

__all__ = ["REPOSITORY"]

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
    unlinked = sum(not query.subject_id for part in linked for query in part.queries)
    return Facts(
        facts=facts.unique().sort(facts.columns),
        labels=choose_labels(named),
        aliases=empty(ALIASES),
        templates=read_templates(mirror).filter(pl.col("language").is_in(asked)),
        prompts=empty(PROMPTS),
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


def read_templates(mirror: Path | None = None) -> pl.DataFrame:
    """Return TEMPLATES in all 53 languages.

    Templates of BMLAMA-17 have priority, and plainly wrong ones are replaced by ours.
    """
    rows = [row for c in PUBLISHED for row in recover_templates(c, read_rows(c, mirror))]
    table = pl.DataFrame(rows, schema=TEMPLATES, orient="row")
    first = table.unique(["language", "relation"], keep="first", maintain_order=True)
    return first.sort("language", "relation")


def list_replacements(config: str) -> dict[str, dict[str, str]]:
    """Return {relation: {language: our template}} for the wrong templates of `17` or `53`."""
    path = files(__package__).joinpath("templates.toml")
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    of_53 = tables.pop("53")
    own = of_53 if config == "53" else {}
    return {relation: table | own.get(relation, {}) for relation, table in tables.items()}


def recover_templates(
    config: str, rows: Mapping[str, Sequence[Row]]
) -> list[tuple[str, str, str, str]]:
    """Return the rows of `facts.TEMPLATES` for published rows; ours replace wrong templates.

    A published template is the most frequent prompt of a relation with `[X]` for the subject.
    """
    ours = list_replacements(config)
    found = []
    for language, part in rows.items():
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for row in part:
            counts[row.relation][row.prompt.replace(row.subject, "[X]")] += 1
        for relation, templates in counts.items():
            template, _ = templates.most_common(1)[0]
            replaced = ours.get(relation, {}).get(language)
            name = f"polyprobe:{relation}" if replaced else f"bmlama:{relation}:0"
            found.append((language, relation, name, replaced or template))
    return found
