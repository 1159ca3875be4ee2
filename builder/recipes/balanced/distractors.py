"""The correct answers to a fact's question, and the choice of its distractors."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, product
from typing import NamedTuple

import polars as pl

from polyprobe.builder.facts.labels import fold
from polyprobe.builder.facts.truths import Knowledge, learn
from polyprobe.system.hashing import hash_text


class Fact(NamedTuple):
    """A true triple, by ids."""

    relation: str
    subject_id: str
    object_id: str

    @property
    def id(self) -> str:
        """The fact's id, the same in every language and version: `P36:Q142:Q90`."""
        return ":".join(self)


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


def fold_column(table: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return the table with the column `folded`: the texts normalised by `fold`."""
    texts = table[column].unique()
    folded = pl.DataFrame({column: texts, "folded": [fold(text) for text in texts]})
    return table.join(folded, on=column)


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


def gather_correct(
    facts: Mapping[str, pl.DataFrame],
    templates: pl.DataFrame,
    prompts: pl.DataFrame,
    homonyms: Homonyms,
) -> CorrectAnswers:
    """Return the correct answers by all facts ({source: table}), and the equal questions.

    `templates` and `prompts` contain the requested languages only.
    """
    return CorrectAnswers(
        learn(facts), find_same_template(templates), find_same_sentence(prompts), homonyms
    )


def find_same_template(templates: pl.DataFrame) -> dict[str, set[str]]:
    """Return {relation: relations with the same template in some language}."""
    same_template: dict[str, set[str]] = defaultdict(set)
    groups = fold_column(templates, "template").group_by("language", "folded").agg("relation")
    for relations in groups["relation"]:
        for relation in relations:
            same_template[relation] |= set(relations)
    return dict(same_template)


def find_same_sentence(prompts: pl.DataFrame) -> dict[Fact, set[str]]:
    """Return {fact: objects of the facts with the same sentence in some language}."""
    same_sentence: dict[Fact, set[str]] = defaultdict(set)
    facts = pl.struct("relation", "subject_id", "object_id").alias("fact")
    groups = fold_column(prompts, "prompt").group_by("language", "folded").agg(facts)
    for group in groups.filter(pl.col("fact").list.len() > 1)["fact"]:
        found = [Fact(**fact) for fact in group]
        for fact in found:
            same_sentence[fact] |= {other.object_id for other in found}
    return dict(same_sentence)


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


def place_answer(fact: Fact, distractors: Sequence[str], seed: int) -> tuple[list[str], int]:
    """Return the candidates with the answer inserted, and its index, uniform by hash."""
    place = hash_text(f"{seed}|{fact.id}|answer") % (len(distractors) + 1)
    return [*distractors[:place], fact.object_id, *distractors[place:]], place


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


def order_by_hash(facts: Iterable[Fact], seed: int) -> list[Fact]:
    """Return the facts sorted by SHA-256 of seed and id: the first N are a random sample."""
    return sorted(facts, key=lambda fact: (hash_text(f"{seed}|{fact.id}|order"), fact))
