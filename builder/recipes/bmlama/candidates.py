"""Mend a query's candidates: one right answer, no label twice, two candidates at least."""

import hashlib
from collections.abc import Collection, Iterable, Mapping

from polyprobe.builder.sources.bmlama.entities import Entity
from polyprobe.builder.sources.bmlama.queries import PublishedQuery

SIZE = 10  # candidates of a row that is filled, as many as most published rows have


def repair_query(
    query: PublishedQuery, entities: Mapping[str, Entity], correct: Iterable[Entity]
) -> PublishedQuery | None:
    """Return the query with candidates that can be asked; None where only the answer is left.

    A distractor that lacks a label in some language, that is the subject itself, that is right as
    well (by id, or by its label in some language), or whose label another candidate has in some
    language, gives its place to another entity of the relation, or goes where there is none. Of two
    candidates that share a label the second one goes, never the answer. A row of one candidate gets
    distractors.

    Args:
        query: the row in ids.
        entities: {id: entity} of the query's relation.
        correct: everything that is right for the query, its answer or not.
    """
    right = [entity for entity in correct if entity.id != query.answer]
    faults = find_faults(query, entities, right)
    kept = {name: entities[name] for name in query.candidates if name not in faults}
    if len(kept) == len(query.candidates) > 1:
        return query
    barred = {query.subject_id, *query.candidates}
    pool = [entity for entity in entities.values() if entity.id not in barred]
    pool.sort(key=lambda entity: (not entity.published, rank(query, entity)))
    chosen = []
    codes = []
    for name in query.candidates:
        replacement = pop_candidate(pool, kept, right) if name in faults else name
        if replacement:
            chosen.append(replacement)
        if name in faults:
            codes.append(faults[name] if replacement else f"{faults[name]}_removed")
    if len(chosen) == 1:
        while len(chosen) < SIZE and (found := pop_candidate(pool, kept, right)):
            chosen.append(found)
        codes.append("filled")
    if len(chosen) == 1:
        return None
    return query.repaired(chosen, *dict.fromkeys(codes))


def find_faults(
    query: PublishedQuery, entities: Mapping[str, Entity], right: Collection[Entity]
) -> dict[str, str]:
    """Return {id: code} of the distractors that cannot stay."""
    faults = {}
    kept = [entities[query.answer]]
    for name in query.candidates:
        entity = entities.get(name)
        if entity is None:
            faults[name] = "missing_label"
        elif name == query.answer:
            continue
        elif name == query.subject_id:
            faults[name] = "subject"
        elif clashes(entity, right):
            faults[name] = "second_answer"
        elif clashes(entity, kept):
            faults[name] = "duplicate_label"
        else:
            kept.append(entity)
    return faults


def clashes(entity: Entity, others: Iterable[Entity]) -> bool:
    """Tell whether the entity is one of the others, or has a label of theirs in some language."""
    return any(map(entity.clashes, others))


def pop_candidate(pool: list[Entity], kept: dict[str, Entity], right: Collection[Entity]) -> str:
    """Move the pool's first entity that clashes with none kept or right to the kept ones.

    Returns its id, '' where there is none.
    """
    for entity in pool:
        if not clashes(entity, kept.values()) and not clashes(entity, right):
            pool.remove(entity)
            kept[entity.id] = entity
            return entity.id
    return ""


def rank(query: PublishedQuery, entity: Entity) -> str:
    """Return what the pool is sorted by: as good as random, and the same for ever."""
    return hashlib.sha256(f"{query.fact_id}|{entity.id}".encode()).hexdigest()
