"""The rows of BMLAMA, linked to Wikidata: their facts, the entities of candidates, rows as ids.

Wikidata ids come from mParaRel. BMLAMA was made from mParaRel's tuples.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import polars as pl

from polyprobe.builder.facts import FACTS, LABELS, TEMPLATES, Facts
from polyprobe.builder.facts.labels import choose_labels, clean, count_contradictions, fold
from polyprobe.builder.facts.linking import Link, link_rows
from polyprobe.builder.sources import read_source
from polyprobe.system.progress import report

from .files import (
    PUBLISHED,
    REPOSITORY,
    Columns,
    Published,
    list_paths,
    read_fallback_templates,
    read_published,
)
from .names import correct_name

__all__ = ["REPOSITORY", "read_fallback_templates"]

LANGUAGES = tuple(list_paths("53"))
LICENCE = (
    "Apache-2.0 according to its repository; derived from mLAMA, which is CC-BY-NC-4.0: the "
    "stricter one applies"
)

REPAIRS = {
    "unlinked": "no Wikidata fact was found; the row has ids of its own",
    "parallel": "candidates were other entities than in English; now they are the same",
    "missing_label": "distractors without a label in some language were replaced",
    "missing_label_removed": "distractors without a label in some language were removed: the "
    "relation has no replacement",
    "subject": "the subject was one of its own distractors and was replaced",
    "subject_removed": "the subject was one of its own distractors and was removed: the relation "
    "has no replacement",
    "second_answer": "distractors that are also correct were replaced",
    "second_answer_removed": "distractors that are also correct were removed: the relation has no "
    "replacement",
    "duplicate_label": "distractors with the label of another candidate in some language were "
    "replaced",
    "duplicate_label_removed": "distractors with the label of another candidate in some language "
    "were removed: the relation has no replacement",
    "label": "labels cut at a comma in the released files, plainly wrong ones, and Russian names "
    "with the surname first were replaced",
    "filled": "distractors were added to a row with a single candidate",
    "drawn_again": "distractors were drawn again, by their frequency as answers",
    "answer_moved": "the answer is no longer the last candidate",
    "template": "the published template is wrong or needs inflected labels; the prompt uses ours",
    "invisible_characters": "invisible characters in the prompt, the subject or a candidate "
    "were replaced by spaces or removed",
    "mixed_alphabets": "words of the prompt, the subject or a candidate that mixed alphabets (a "
    "Latin A in Greek) now use one",
    "simplified": "traditional Chinese characters in the prompt, the subject or a candidate were "
    "replaced by simplified ones",
}
# Relations whose answers are places. A location may follow a comma: `Providence, Rhode Island`.
# fmt: off
OF_PLACES = frozenset((
    "P17", "P19", "P20", "P27", "P30", "P36", "P47", "P131", "P138", "P159", "P190", "P276", "P495",
    "P530", "P740", "P937", "P1001", "P1376",
))
# fmt: on
Rows = Mapping[str, Columns]
Key = tuple[int, str]


class PublishedQuery(NamedTuple):
    """One row as ids, the same in every language.

    `candidates` contains `answer` exactly once. Both are Wikidata ids, or `bmlama:RELATION:LABEL`.
    `repairs` are the keys of REPAIRS that apply to all languages.
    """

    published_row: str
    relation: str
    subject_id: str
    answer: str
    candidates: tuple[str, ...]
    repairs: tuple[str, ...] = ()

    @property
    def fact_id(self) -> str:
        """Return an id such as `P36:Q142:Q90`, or the published row's id if it is not linked."""
        if "unlinked" in self.repairs:
            return self.published_row
        return f"{self.relation}:{self.subject_id}:{self.answer}"

    def repaired(self, candidates: Iterable[str], *codes: str) -> "PublishedQuery":
        """Return the query with new candidates and further codes of repairs."""
        return self._replace(candidates=tuple(candidates), repairs=self.repairs + codes)


class Entity(NamedTuple):
    """A possible object of one relation.

    - `labels`: one for each language, in the order of the dataset.
    - `keys`: pairs of a language's index and a label folded by `fold`, and (-1, id). Two entities
      with a common key cannot be candidates of one row.
    - `original`: the labels before damaged ones were restored (`restore`).
    - `published`: whether it is an answer in the relation's published rows.
    """

    id: str
    labels: tuple[str, ...]
    keys: frozenset[Key]
    original: tuple[str, ...]
    published: bool = True


class Linked(NamedTuple):
    """The rows of a configuration, linked.

    - `entities`: {relation: {id: entity}}.
    - `known`: all known labels (`facts.LABELS`).
    """

    rows: Rows
    queries: list[PublishedQuery]
    entities: Mapping[str, Mapping[str, Entity]]
    known: pl.DataFrame


def read_facts(mirror: Path | None, languages: Sequence[str] | None = None) -> Facts:
    """Return the linked facts of both configurations, their labels and templates.

    If an entity has several labels in a language, which may differ between relations, the most
    frequent one is used.
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
    templates = [line for line in read_fallback_templates(mirror) if line[0] in asked]
    unlinked = sum(not query.subject_id for part in linked for query in part.queries)
    return Facts(
        facts=facts.unique().sort(facts.columns),
        labels=choose_labels(named),
        templates=pl.DataFrame(templates, schema=TEMPLATES, orient="row"),
        repairs={
            "rows excluded: no Wikidata fact found": unlinked,
            "entities with several labels in a language": count_contradictions(named),
        },
    )


def name_entities(linked: Linked, languages: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the LABELS of all linked subjects and answers in some languages, with repetitions."""
    for language in (name for name in languages if name in linked.rows):
        own = linked.rows[language]
        for query, subject, answer in zip(linked.queries, own.subject, own.answer, strict=True):
            if query.subject_id:
                yield language, query.subject_id, subject
                yield language, query.answer, answer


@lru_cache(maxsize=1)  # two repaired configurations are built in succession
def read_linked(mirror: Path | None = None) -> dict[str, Linked]:
    """Return {published configuration: its rows with Wikidata ids from mParaRel}."""
    report("reading the published rows, and the facts of mpararel")
    published = {config: read_published(config, mirror) for config in PUBLISHED}
    languages = sorted({language for part in published.values() for language in part.columns})
    known = read_source("mpararel", mirror, languages)
    linked = {}
    for config, part in published.items():
        report(f"linking {config} to Wikidata")
        pairs = {language: (own.subject, own.answer) for language, own in part.columns.items()}
        links = link_rows(part.relations, pairs, known)
        entities, answers = collect_entities(part, links, known)
        queries = read_queries(part, links, entities, answers)
        linked[config] = Linked(part.columns, queries, entities, known.labels)
    return linked


def collect_entities(
    published: Published, links: Sequence[Link | None], known: Facts
) -> tuple[dict[str, dict[str, Entity]], list[str]]:
    """Return {relation: {id: entity}}, and the id of each row's answer.

    An answer has the labels of its published rows; damaged ones are restored. In a row
    without a link, the answer is the linked answer with the same labels, if there is one; otherwise
    its id is `bmlama:RELATION:LABEL`. The relation's other known objects follow, with the labels of
    `known`, if they have one in every language.
    """
    found: dict[str, dict[str, Entity]] = defaultdict(dict)
    ids = [""] * len(links)
    rows = published.columns
    cleaned = ([clean(label, name) for label in own.answer] for name, own in rows.items())
    labels = list(zip(*cleaned, strict=True))
    objects = known.labels.filter(pl.col("id").is_in(known.facts["object_id"].implode()))
    spelled = {(language, name): label for language, name, label in objects.iter_rows()}
    for number in sorted(range(len(links)), key=lambda number: links[number] is None):
        relation, link = published.relations[number], links[number]
        block = found[relation]
        same = (entity.id for entity in block.values() if entity.original == labels[number])
        own_name = own_id(relation, rows["en"].answer[number])
        name = ids[number] = link.object_id if link else next(same, own_name)
        if name not in block:
            shown = dict(zip(rows, labels[number], strict=True))
            ours = restore(relation, name, shown, spelled)
            block[name] = make_entity(name, ours, True, labels[number])
    for relation, entity in list_objects(list(rows), known):
        found[relation].setdefault(entity.id, entity)
    return dict(found), ids


def restore(
    relation: str, name: str, labels: Mapping[str, str], spelled: Mapping[tuple[str, str], str]
) -> list[str]:
    """Return an entity's labels: mParaRel's for those cut at a comma, ours for wrong ones.

    `labels` is {language: published label} and `spelled` {(language, id): label in mParaRel}.
    """
    restored = []
    for language, label in labels.items():
        whole = clean(spelled.get((language, name), label), language)
        shown = whole if is_cut(label, whole, relation) else label
        restored.append(correct_name(shown, name, language))
    return restored


def is_cut(label: str, whole: str, relation: str) -> bool:
    """Return whether a label is the whole one, cut at a comma that is part of the name.

    >>> is_cut("Dallas (seat of Dallas County", "Dallas (seat of Dallas County, Texas)", "P190")
    True
    >>> is_cut("Providence", "Providence, Rhode Island", "P36")
    False
    """
    if not whole.startswith(f"{label},"):
        return False
    return relation not in OF_PLACES or label.count("(") != label.count(")")


def make_entity(
    name: str, labels: Iterable[str], published: bool = True, original: Iterable[str] | None = None
) -> Entity:
    """Return an entity; `original` are its labels before repair (default: `labels`)."""
    labels = tuple(labels)
    keys = {(place, fold(label)) for place, label in enumerate(labels) if label} | {(-1, name)}
    whole = labels if original is None else tuple(original)
    return Entity(name, labels, frozenset(keys), whole, published)


def list_objects(languages: list[str], known: Facts) -> list[tuple[str, Entity]]:
    """Return (relation, entity) of all known objects with a label in every language, sorted."""
    labels = (
        known.labels.rename({"id": "object_id"})
        .filter(pl.col("language").is_in(languages))
        .pivot("language", index="object_id", values="label")
    )
    objects = known.facts.select("relation", "object_id").unique()
    table = objects.join(labels.select("object_id", *languages).drop_nulls(), on="object_id")
    found = []
    for relation, name, *published in table.sort("relation", "object_id").iter_rows():
        pairs = zip(published, languages, strict=True)
        shown = [correct_name(clean(label, language), name, language) for label, language in pairs]
        found.append((relation, make_entity(name, shown, False)))
    return found


def name_others(ids: Set[str], known: pl.DataFrame, languages: Sequence[str]) -> dict[str, Entity]:
    """Return {id: entity} with the known labels; a missing label is ''."""
    labels: dict[str, list[str]] = defaultdict(lambda: [""] * len(languages))
    places = {language: place for place, language in enumerate(languages)}
    asked = pl.col("language").is_in(list(languages)) & pl.col("id").is_in(sorted(ids))
    for language, name, label in known.filter(asked).iter_rows():
        labels[name][places[language]] = correct_name(clean(label, language), name, language)
    return {name: make_entity(name, found, False) for name, found in labels.items()}


def read_queries(
    published: Published,
    links: Sequence[Link | None],
    entities: Mapping[str, Mapping[str, Entity]],
    answers: Sequence[str],
) -> list[PublishedQuery]:
    """Return the rows as ids; candidates are the entities with the English labels.

    If several answers of the relation share an English label (Georgia is a country and a state),
    the candidate is the one whose labels most languages have at this index; in a tie, the one with
    the smallest id. A label without an entity gets the id `bmlama:RELATION:LABEL`, which is not in
    `entities`.
    """
    rows = published.columns
    place = list(rows).index("en")
    by_label = {relation: index_by_label(b.values(), place) for relation, b in entities.items()}
    english = rows["en"]
    queries = []
    for number, (fact_id, relation, link, answer) in enumerate(
        zip(published.ids, published.relations, links, answers, strict=True)
    ):
        named = []
        for index, label in enumerate(english.candidates[number]):
            shown = clean(label, "en")
            labels = (clean(own.candidates[number][index], name) for name, own in rows.items())
            homonyms = by_label[relation].get(shown, ())
            named.append(choose(homonyms, labels) or own_id(relation, shown))
        named[english.candidates[number].index(english.answer[number])] = answer
        subject, repairs = (link.subject_id, ()) if link else ("", ("unlinked",))
        queries.append(PublishedQuery(fact_id, relation, subject, answer, tuple(named), repairs))
    return queries


def index_by_label(entities: Iterable[Entity], language: int) -> dict[str, list[Entity]]:
    """Return {label in one language: entities with this label}, sorted by id.

    Objects that are not published answers are included only if no published answer has the label.
    """
    found: dict[str, list[Entity]] = defaultdict(list)
    for entity in sorted(entities, key=lambda entity: (not entity.published, entity.id)):
        homonyms = found[entity.original[language]]
        if entity.published or not any(other.published for other in homonyms):
            homonyms.append(entity)
    return dict(found)


def choose(entities: Sequence[Entity], labels: Iterable[str]) -> str:
    """Return the id of the first entity with the most of the labels, '' without entities.

    `labels` has one label for each language; those of a single entity are not read.
    """
    if len(entities) < 2:
        return entities[0].id if entities else ""
    shown = list(labels)
    votes = [sum(map(str.__eq__, entity.original, shown)) for entity in entities]
    return entities[votes.index(max(votes))].id


def own_id(relation: str, label: str) -> str:
    """Return the id of an entity that is known by its English label only."""
    return f"bmlama:{relation}:{label}"
