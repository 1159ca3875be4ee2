"""The entities that stand as candidates: one id, one label a language."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

import polars as pl

from polyprobe.builder.facts.facts import Facts
from polyprobe.builder.facts.labels import clean, fold
from polyprobe.builder.facts.linking import Link
from polyprobe.schema.columns import Row

from .damaged import restore
from .queries import PublishedQuery

Rows = Mapping[str, Sequence[Row]]


class Entity(NamedTuple):
    """A possible object of one relation: its labels, one a language in the dataset's order.

    `folded` are (place of the language, label) with the labels as `fold` leaves them. `original`
    are the labels before they were restored (`damaged`). `published` tells whether the relation's
    published rows have it as an answer.
    """

    id: str
    labels: tuple[str, ...]
    folded: frozenset[tuple[int, str]]
    original: tuple[str, ...]
    published: bool = True

    def clashes(self, other: "Entity") -> bool:
        """Tell whether the two are one, or have the same label in some language."""
        return self.id == other.id or not self.folded.isdisjoint(other.folded)


def make_entity(
    name: str,
    labels: Iterable[str],
    published: bool = True,
    original: Sequence[str] | None = None,
) -> Entity:
    """Return an entity of these labels, which are the original ones unless those are given."""
    labels = tuple(labels)
    folded = frozenset((place, fold(label)) for place, label in enumerate(labels) if label)
    return Entity(name, labels, folded, labels if original is None else tuple(original), published)


def collect_entities(
    rows: Rows, links: Sequence[Link | None], known: Facts
) -> tuple[dict[str, dict[str, Entity]], list[str]]:
    """Return {relation: {id: entity}}, and the id of each row's answer.

    An answer has the labels that its published rows give it, restored where `damaged`. That of a
    row without link is the linked one with the very same labels, or gets the id
    `bmlama:RELATION:LABEL`. The relation's other known objects come last, with the labels of
    `known`, if they have one in every language.
    """
    found: dict[str, dict[str, Entity]] = defaultdict(dict)
    ids = [""] * len(links)
    spelled = {(language, name): label for language, name, label in known.labels.iter_rows()}
    for number in sorted(range(len(links)), key=lambda number: links[number] is None):
        labels = [clean(part[number].answer_forms[0], name) for name, part in rows.items()]
        english, link = rows["en"][number], links[number]
        block = found[english.relation]
        ids[number] = link.object_id if link else find_same(labels, block)
        if not ids[number]:
            ids[number] = own_id(english.relation, english.answer_forms[0])
        if ids[number] not in block:
            shown = dict(zip(rows, labels, strict=True))
            ours = restore(english.relation, ids[number], shown, spelled)
            block[ids[number]] = make_entity(ids[number], ours, True, labels)
    for relation, entity in list_objects(list(rows), known):
        found[relation].setdefault(entity.id, entity)
    return dict(found), ids


def find_same(labels: Sequence[str], block: Mapping[str, Entity]) -> str:
    """Return the id of the entity with these labels, '' where there is none."""
    return next((name for name, entity in block.items() if entity.original == tuple(labels)), "")


def list_objects(languages: list[str], known: Facts) -> list[tuple[str, Entity]]:
    """Return (relation, entity) for every known object with a label in each language, sorted."""
    labels = (
        known.labels.rename({"id": "object_id"})
        .filter(pl.col("language").is_in(languages))
        .pivot("language", index="object_id", values="label")
    )
    objects = known.facts.select("relation", "object_id").unique()
    table = objects.join(labels.select("object_id", *languages).drop_nulls(), on="object_id").sort(
        "relation", "object_id"
    )
    return [
        (relation, make_entity(name, map(clean, found, languages), False))
        for relation, name, *found in table.iter_rows()
    ]


def name_others(ids: Set[str], known: pl.DataFrame, languages: Sequence[str]) -> dict[str, Entity]:
    """Return {id: entity} of the ids by the labels that are known, '' where there is none."""
    labels: dict[str, list[str]] = defaultdict(lambda: [""] * len(languages))
    asked = pl.col("language").is_in(list(languages)) & pl.col("id").is_in(sorted(ids))
    for language, name, label in known.filter(asked).iter_rows():
        labels[name][languages.index(language)] = clean(label, language)
    return {name: make_entity(name, found, False) for name, found in labels.items()}


def read_queries(
    rows: Rows,
    links: Sequence[Link | None],
    entities: Mapping[str, Mapping[str, Entity]],
    answers: Sequence[str],
) -> list[PublishedQuery]:
    """Return the rows in ids, with the entities that English's labels name.

    An English label that several answers of the relation share (Georgia: a country and a state)
    stands for the one that most languages name at this place; with equal votes the smaller id. A
    label that no entity has gets an id of its own, which is none of `entities`.
    """
    place = list(rows).index("en")
    by_label = {relation: index_by_label(b.values(), place) for relation, b in entities.items()}
    queries = []
    for row, link, answer, parallel in zip(
        rows["en"], links, answers, zip(*rows.values(), strict=True), strict=True
    ):
        labels = zip(*(other.candidates for other in parallel), strict=True)
        homonyms = by_label[row.relation]
        named = [
            choose(homonyms.get(clean(shown[place], "en"), ()), shown)
            or own_id(row.relation, shown[place])
            for shown in labels
        ]
        named[row.answers[0]] = answer
        queries.append(
            PublishedQuery(
                published_row=row.fact_id,
                relation=row.relation,
                subject_id=link.subject_id if link else "",
                answer=answer,
                candidates=tuple(named),
                repairs=() if link else ("unlinked",),
            )
        )
    return queries


def index_by_label(entities: Iterable[Entity], language: int) -> dict[str, list[Entity]]:
    """Return {label in one language: answers that bear it, or else other objects, by id}."""
    found: dict[str, list[Entity]] = defaultdict(list)
    for entity in sorted(entities, key=lambda entity: (not entity.published, entity.id)):
        homonyms = found[entity.original[language]]
        if entity.published or not any(other.published for other in homonyms):
            homonyms.append(entity)
    return dict(found)


def choose(entities: Sequence[Entity], labels: Sequence[str]) -> str:
    """Return the id of the first of the entities that most labels, one a language, belong to.

    That is '' where there are no entities.
    """
    votes = [sum(map(str.__eq__, entity.original, labels)) for entity in entities]
    return entities[votes.index(max(votes))].id if votes else ""


def own_id(relation: str, label: str) -> str:
    """Return the id of an entity of which only the English label is known."""
    return f"bmlama:{relation}:{label}"
