"""Draw the candidates of each fact: its distractors are no correct answers to its question."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, product
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import polars as pl

from polyprobe.builder.facts import FACTS, Fact
from polyprobe.builder.facts.labels import fold
from polyprobe.builder.facts.truths import Knowledge, learn
from polyprobe.builder.sources import read_truths
from polyprobe.system.hashing import hash_text
from polyprobe.system.progress import track

from .material import Material, mark
from .request import Request

ALONE = "one candidate"
OVER = "over --max-per-relation"


class Query(NamedTuple):
    """A fact with its candidates by id, the same in every language; `answer` is an index."""

    fact: Fact
    candidates: list[str]
    answer: int


class Homonyms(NamedTuple):
    """Entities that share a label in some language.

    `groups[id]` contains the numbers of an entity's groups, `members[group]` the ids in a group. A
    group is the set of all entities with the same label in one language, at least two.
    """

    groups: dict[str, frozenset[int]]
    members: list[list[str]]

    def of(self, entity: str) -> set[str]:
        """Return the entity and all entities that share a label with it in some language."""
        return {entity}.union(*(self.members[group] for group in self.groups_of(entity)))

    def groups_of(self, entity: str) -> frozenset[int]:
        """Return the numbers of the entity's groups."""
        return self.groups.get(entity, frozenset())


class CorrectAnswers(NamedTuple):
    """Correct answers to each question, by facts of all sources and languages.

    `same_template[relation]` contains the relations with the same template in some language,
    including the relation itself. `same_sentence[fact]` contains the objects of the facts with the
    same sentence in some language.
    """

    knowledge: Knowledge
    same_template: dict[str, set[str]]
    same_sentence: dict[Fact, set[str]]
    homonyms: Homonyms

    def of(self, fact: Fact) -> set[str]:
        """Return all correct answers to the fact's question, also for homonyms of its subject."""
        relations = self.same_template.get(fact.relation, {fact.relation})
        questions = list(product(relations, self.homonyms.of(fact.subject_id)))
        return self.knowledge.complete(
            {fact.object_id, *self.same_sentence.get(fact, ())}, questions
        )


def draw(
    request: Request, material: Material, facts: pl.DataFrame, mirror: Path | None
) -> tuple[list[Query], list[tuple[str, str, int]]]:
    """Return the kept queries, sorted, and counts of excluded facts (LEFT_OUT)."""
    correct = find_correct(request, material, mirror)
    objects = list_objects(request, material)
    queries: list[Query] = []
    alone: dict[str, int] = {}
    over = 0
    parts = facts.sort(facts.columns).partition_by("relation", maintain_order=True)
    for part in track(parts, "drawing candidates"):
        asked = list(map(Fact._make, part.iter_rows()))
        relation = asked[0].relation
        found, tried = draw_relation(asked, objects[relation], correct, request)
        queries += found
        alone[relation] = tried - len(found)
        over += len(asked) - tried
    return queries, [*total(ALONE, alone), (OVER, "", over)]


def find_correct(request: Request, material: Material, mirror: Path | None) -> CorrectAnswers:
    """Return the correct answers, from all known facts and the requested languages' wordings.

    `material` contains the templates in use (`level_templates`).
    """
    known = material.known
    asked = pl.col("language").is_in(list(request.languages))
    return CorrectAnswers(
        learn({"": known.facts, **read_truths(mirror, material.truths)}),
        find_same_template(material.templates),
        find_same_sentence(known.prompts.filter(asked)),
        find_homonyms(known.labels.filter(asked)),
    )


def find_same_template(templates: pl.DataFrame) -> dict[str, set[str]]:
    """Return {relation: relations with the same template in some language}."""
    same_template: dict[str, set[str]] = defaultdict(set)
    groups = fold_column(templates, "template").group_by("language", "folded").agg("relation")
    for relations in groups["relation"]:
        for relation in relations:
            same_template[relation] |= set(relations)
    return dict(same_template)


def fold_column(table: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return the table with the column `folded`: the texts normalised by `fold`."""
    texts = table[column].unique()
    folded = pl.DataFrame({column: texts, "folded": [fold(text) for text in texts]})
    return table.join(folded, on=column)


def find_same_sentence(prompts: pl.DataFrame) -> dict[Fact, set[str]]:
    """Return {fact: objects of the facts with the same sentence in some language}."""
    same_sentence: dict[Fact, set[str]] = defaultdict(set)
    facts = pl.struct(*FACTS).alias("fact")
    groups = fold_column(prompts, "prompt").group_by("language", "folded").agg(facts)
    for group in groups.filter(pl.col("fact").list.len() > 1)["fact"]:
        found = [Fact(**fact) for fact in group]
        for fact in found:
            same_sentence[fact] |= {other.object_id for other in found}
    return dict(same_sentence)


def find_homonyms(labels: pl.DataFrame) -> Homonyms:
    """Return the entities that share a label in some language, compared by `fold`."""
    shared = (
        fold_column(labels, "label")
        .group_by("language", "folded")
        .agg(pl.col("id").unique().sort())
        .filter(pl.col("id").list.len() > 1)
        .sort("language", "folded")
    )
    members = shared["id"].to_list()
    groups = defaultdict(set)
    for number, ids in enumerate(members):
        for entity in ids:
            groups[entity].add(number)
    return Homonyms({entity: frozenset(found) for entity, found in groups.items()}, members)


def list_objects(request: Request, material: Material) -> dict[str, list[str]]:
    """Return {relation: objects with a label in all requested languages}."""
    objects = material.coverage.facts.select("relation", id="object_id").unique()
    named = mark(material.known.labels, objects.select("id"), request.languages).all(axis=1)
    return dict(objects.filter(named).group_by("relation").agg("id").iter_rows())


def draw_relation(
    facts: Sequence[Fact], objects: Collection[str], correct: CorrectAnswers, request: Request
) -> tuple[list[Query], int]:
    """Return the queries of a relation, sorted, and the number of facts tried.

    Distractors are drawn from the objects of the facts, then from the other objects of the relation
    if more are needed. Facts are tried in the order of SHA-256 of seed and id, a random sample,
    until `max_per_relation` of them have a distractor.
    """
    own = {fact.object_id for fact in facts}
    pools = (sorted(own), sorted({*objects} - own))
    limit = request.max_per_relation or len(facts)
    found: list[Query] = []
    tried = 0
    for fact in sorted(facts, key=lambda x: (hash_text(f"{request.seed}|{x.id}|order"), x)):
        if len(found) == limit:
            break
        tried += 1
        distractors = draw_distractors(fact, pools, correct, request.candidates - 1, request.seed)
        if distractors:
            found.append(Query(fact, *place_answer(fact, distractors, request.seed)))
    return sorted(found, key=attrgetter("fact")), tried


def draw_distractors(
    fact: Fact, pools: Iterable[Sequence[str]], correct: CorrectAnswers, count: int, seed: int
) -> list[str]:
    """Return up to `count` distractors from the pools (sorted ids), in the order drawn.

    Each pool is drawn without replacement until it is empty; then the next one is used. Excluded
    are correct answers, the subject, and entities that share a label in some language with a
    correct answer or an earlier distractor.
    """
    right = correct.of(fact)
    barred = right | {fact.subject_id}
    groups = correct.homonyms.groups_of
    taken = set().union(*(groups(entity) for entity in right))
    drawn: list[str] = []
    for entity in chain.from_iterable(shuffle(pool, f"{seed}|{fact.id}") for pool in pools):
        if len(drawn) == count:
            break
        if entity not in barred and taken.isdisjoint(groups(entity)):
            drawn.append(entity)
            taken |= groups(entity)
    return drawn


def shuffle(pool: Sequence[str], key: str) -> Iterator[str]:
    """Yield the items of the pool in a random order that depends only on key and pool.

    Fisher-Yates shuffle: draw n takes one of the m remaining items by SHA-256 of `key|n` modulo m,
    with a bias below m / 2**256. It is independent of the random generators of libraries.
    """
    moved: dict[int, str] = {}
    for number, item in enumerate(pool):
        place = number + hash_text(f"{key}|{number}") % (len(pool) - number)
        yield moved.get(place, pool[place])
        moved[place] = moved.get(number, item)


def place_answer(fact: Fact, distractors: Sequence[str], seed: int) -> tuple[list[str], int]:
    """Return the candidates with the answer inserted, and its index, uniform by hash."""
    place = hash_text(f"{seed}|{fact.id}|answer") % (len(distractors) + 1)
    return [*distractors[:place], fact.object_id, *distractors[place:]], place


def total(reason: str, counts: dict[str, int]) -> Iterator[tuple[str, str, int]]:
    """Yield lines of LEFT_OUT for a reason: the sum of the counts, then each count."""
    yield (reason, "", sum(counts.values()))
    yield from ((reason, detail, count) for detail, count in counts.items())
