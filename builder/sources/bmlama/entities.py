"""The entities of candidates, each with an id and one label for each language."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

import polars as pl

from polyprobe.builder.facts import Facts
from polyprobe.builder.facts.labels import clean, fold
from polyprobe.builder.facts.linking import Link
from polyprobe.schema.columns import Row

from .damaged import restore
from .queries import PublishedQuery

Rows = Mapping[str, Sequence[Row]]


class Entity(NamedTuple):
    """A possible object of one relation.

    - `labels`: one for each language, in the order of the dataset.
    - `folded`: pairs of a language's index and a label folded by `fold`.
    - `original`: the labels before damaged ones were restored (`damaged`).
    - `published`: whether it is an answer in the relation's published rows.
    """

    id: str
    labels: tuple[str, ...]
    folded: frozenset[tuple[int, str]]
    original: tuple[str, ...]
    published: bool = True

    def clashes(self, other: "Entity") -> bool:
        """Return whether the two have the same id, or the same label in a language."""
        return self.id == other.id or not self.folded.isdisjoint(other.folded)


def make_entity(
    name: str,
    labels: Iterable[str],
    published: bool = True,
    original: Sequence[str] | None = None,
) -> Entity:
    """Return an entity; `original` are its labels before repair (default: `labels`)."""
    labels = tuple(labels)
    folded = frozenset((place, fold(label)) for place, label in enumerate(labels) if label)
    return Entity(name, labels, folded, labels if original is None else tuple(original), published)


def collect_entities(
    rows: Rows, links: Sequence[Link | None], known: Facts
) -> tuple[dict[str, dict[str, Entity]], list[str]]:
    """Return {relation: {id: entity}}, and the id of each row's answer.

    An answer has the labels of its published rows; damaged ones are restored (`damaged`). In a row
    without a link, the answer is the linked answer with the same labels, if there is one; otherwise
    its id is `bmlama:RELATION:LABEL`. The relation's other known objects follow, with the labels of
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
    """Return the id of the entity with these labels, '' if there is none."""
    return next((name for name, entity in block.items() if entity.original == tuple(labels)), "")


def list_objects(languages: list[str], known: Facts) -> list[tuple[str, Entity]]:
    """Return (relation, entity) of all known objects with a label in every language, sorted."""
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
    """Return {id: entity} with the known labels; a missing label is ''."""
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
    """Return the rows as ids; candidates are the entities with the English labels.

    If several answers of the relation share an English label (Georgia is a country and a state),
    the candidate is the one whose labels most languages have at this index; in a tie, the one with
    the smallest id. A label without an entity gets the id `bmlama:RELATION:LABEL`, which is not in
    `entities`.
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
    """Return {label in one language: entities with this label}, sorted by id.

    Objects that are not published answers are included only if no published answer has the label.
    """
    found: dict[str, list[Entity]] = defaultdict(list)
    for entity in sorted(entities, key=lambda entity: (not entity.published, entity.id)):
        homonyms = found[entity.original[language]]
        if entity.published or not any(other.published for other in homonyms):
            homonyms.append(entity)
    return dict(found)


def choose(entities: Sequence[Entity], labels: Sequence[str]) -> str:
    """Return the id of the first entity with the most of the labels, '' without entities.

    `labels` has one label for each language.
    """
    votes = [sum(map(str.__eq__, entity.original, labels)) for entity in entities]
    return entities[votes.index(max(votes))].id if votes else ""


def own_id(relation: str, label: str) -> str:
    """Return the id of an entity that is known by its English label only."""
    return f"bmlama:{relation}:{label}"
