"""Repair a query's candidates: one correct answer, unique labels, at least two candidates."""

import hashlib
from collections.abc import Collection, Iterable, Mapping

from polyprobe.builder.sources.bmlama.linked import Entity, PublishedQuery

SIZE = 10  # candidates of a filled row, the size of most published rows


def repair_query(
    query: PublishedQuery, entities: Mapping[str, Entity], correct: Iterable[Entity]
) -> PublishedQuery | None:
    """Return the query with valid candidates; None if only the answer remains.

    A distractor is replaced if it lacks a label in some language, is the subject, is also correct
    (by id, or by its label in some language), or shares a label with another candidate in some
    language. The replacement is another entity of the relation; without one, the distractor is
    removed. Of two candidates with the same label, the second one is replaced, but never the
    answer. A row with a single candidate is filled with distractors.

    Args:
        query: the row, by ids.
        entities: {id: entity} of the query's relation.
        correct: all correct answers to the query.
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
    """Return {id: code} of the distractors to replace."""
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
    """Return whether the entity is one of the others or shares a label with one of them."""
    return any(map(entity.clashes, others))


def pop_candidate(pool: list[Entity], kept: dict[str, Entity], right: Collection[Entity]) -> str:
    """Move the pool's first entity without a clash to `kept` and return its id; '' if none."""
    for entity in pool:
        if not clashes(entity, kept.values()) and not clashes(entity, right):
            pool.remove(entity)
            kept[entity.id] = entity
            return entity.id
    return ""


def rank(query: PublishedQuery, entity: Entity) -> str:
    """Return the sort key of the pool, pseudo-random and reproducible."""
    return hashlib.sha256(f"{query.fact_id}|{entity.id}".encode()).hexdigest()
