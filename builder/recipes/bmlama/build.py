"""Build BMLAMA: the published rows, and repaired rows with parallel, unambiguous candidates."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from polyprobe.builder.facts.flags import flag_rows
from polyprobe.builder.facts.labels import (
    CHINESE,
    clean,
    find_invisible,
    simplify,
    traditionalise,
    unmix,
)
from polyprobe.builder.facts.truths import Knowledge, learn
from polyprobe.builder.recipes import RECIPES
from polyprobe.builder.sources import read_truths
from polyprobe.builder.sources.bmlama.files import PUBLISHED, list_replacements, read_rows
from polyprobe.builder.sources.bmlama.linked import (
    REPAIRS,
    Entity,
    Linked,
    PublishedQuery,
    Rows,
    name_others,
    read_linked,
)
from polyprobe.builder.sources.bmlama.names import correct, turn
from polyprobe.schema.columns import Row
from polyprobe.system.hashing import hash_text, shuffle
from polyprobe.system.progress import report, track

from .card import describe

__all__ = ["CONFIGS", "DEFAULT_CONFIG", "build", "describe"]

CONFIGS = (*RECIPES["bmlama"].configs, *RECIPES["bmlama"].further)
DEFAULT_CONFIG = "17-repaired"
FIRST, TRADITIONAL = "-1", "-hant"  # suffixes of further configurations
SIZE = 10  # candidates of a filled row, the size of most published rows


class Wording(NamedTuple):
    """The texts of a query in one language.

    `meant` are the published labels of the entities in English's published candidates, `labels`
    those of the query's candidates, and `original` the same labels before restoration. `template`
    replaces a wrong published template.
    """

    language: str
    meant: list[str]
    labels: list[str]
    original: list[str]
    template: str | None = None


def build(config: str, mirror: Path | None = None) -> dict[str, list[Row]]:
    """Return {language: rows} of a configuration, in the published order."""
    if config in PUBLISHED:
        return read_rows(config, mirror)
    published, _, version = config.partition("-repaired")
    linked = read_linked(mirror)
    knowledge = learn(read_truths(mirror))
    report(f"{config}: repairing {len(linked[published].queries):,} queries")
    others = [linked[other] for other in PUBLISHED if other != published]
    templates = list_replacements(published)
    rows, dropped = repair(linked[published], others, knowledge, templates, drawn=version != FIRST)
    total = len(linked[published].queries)
    report(f"{config}: {len(dropped)} of {total} published rows excluded: no distractors")
    if version == TRADITIONAL:
        rows[CHINESE] = [write_traditional(row) for row in rows[CHINESE]]
    return flag_rows(rows)


def write_traditional(row: Row) -> Row:
    """Return a Chinese row in traditional characters."""
    return row._replace(
        subject=traditionalise(row.subject),
        prompt=traditionalise(row.prompt),
        candidates=[traditionalise(label) for label in row.candidates],
        answer_forms=[traditionalise(form) for form in row.answer_forms],
    )


def repair(
    config: Linked,
    others: Sequence[Linked],
    knowledge: Knowledge,
    templates: Mapping[str, Mapping[str, str]],
    drawn: bool = True,
) -> tuple[dict[str, list[Row]], list[PublishedQuery]]:
    """Return {language: repaired rows} in the published order, and the dropped queries.

    `others` are the other published configurations, for further correct answers. `templates` are
    replacements of published templates, {relation: {language: template}}. If `drawn`, distractors
    are drawn by their frequency as answers (`draw_again`); otherwise valid published ones are kept.
    """
    published = [(linked.rows, linked.queries) for linked in (config, *others)]
    correct = find_correct(config.queries, config.rows, published, knowledge)
    strangers = name_others(set().union(*correct), config.known, list(config.rows))
    answers: dict[str, list[str]] = defaultdict(list)
    for query in config.queries:
        answers[query.relation].append(query.answer)
    repaired: dict[str, list[Row]] = {language: [] for language in config.rows}
    dropped = []
    for number, query in enumerate(track(config.queries, "repairing rows")):
        block = config.entities[query.relation]
        found = [block.get(name) or strangers.get(name) for name in sorted(correct[number])]
        right = [entity for entity in found if entity]
        repaired_query = repair_query(query, block, right)
        if repaired_query is None:
            dropped.append(query)
            continue
        if drawn:
            repaired_query = draw_again(repaired_query, block, right, answers[query.relation])
        placed = move_answer(repaired_query)
        for place, (language, part) in enumerate(config.rows.items()):
            wording = Wording(
                language,
                meant=[block[n].original[place] if n in block else "" for n in query.candidates],
                labels=[block[name].labels[place] for name in placed.candidates],
                original=[block[name].original[place] for name in placed.candidates],
                template=templates.get(query.relation, {}).get(language),
            )
            repaired[language].append(write_row(placed, part[number], wording))
    return repaired, dropped


def find_correct(
    queries: Sequence[PublishedQuery],
    rows: Rows,
    published: Iterable[tuple[Rows, Sequence[PublishedQuery]]],
    knowledge: Knowledge,
) -> list[set[str]]:
    """Return the ids of all correct entities of each query, including its answer.

    Correct are the known objects of the subject in the query's relation or in one with the same
    English template (four relations have "[X] is located in [Y]"), the answers of all published
    rows with the same prompt in some language (there the prompt is ambiguous), and all entities
    that `knowledge` infers from these. `published` are the rows and queries of all configurations.
    """
    answers: dict[tuple[str, str], set[str]] = defaultdict(set)
    for configuration, asked in published:
        for language, part in configuration.items():
            for row, query in zip(part, asked, strict=True):
                answers[language, row.prompt].add(query.answer)
    alike = group_relations(rows["en"])
    correct = []
    for number, query in enumerate(queries):
        echoes = (answers[language, part[number].prompt] for language, part in rows.items())
        questions = [(relation, query.subject_id) for relation in alike[query.relation]]
        correct.append(knowledge.complete({query.answer}.union(*echoes), questions))
    return correct


def group_relations(english: Sequence[Row]) -> Mapping[str, set[str]]:
    """Return {relation: relations with the same English template, including itself}."""
    templates: dict[str, str] = {}
    for row in english:
        templates.setdefault(row.relation, row.prompt.replace(row.subject, "[X]"))
    groups = defaultdict(set)
    for relation, template in templates.items():
        groups[template].add(relation)
    return {relation: groups[template] for relation, template in templates.items()}


def repair_query(
    query: PublishedQuery, entities: Mapping[str, Entity], correct: Iterable[Entity]
) -> PublishedQuery | None:
    """Return the query with valid candidates; None if only the answer remains.

    A distractor is replaced if it lacks a label in some language, is the subject, is also correct
    (by id, or by its label in some language), or shares a label with another candidate in some
    language. The replacement is another entity of the relation; without one, the distractor is
    removed. Of two candidates with the same label, the second one is replaced, but never the
    answer. A row with a single candidate is filled with distractors. `entities` are those of the
    query's relation, `correct` all correct answers to the query.
    """
    right = [entity for entity in correct if entity.id != query.answer]
    faults = find_faults(query, entities, right)
    kept = {name: entities[name] for name in query.candidates if name not in faults}
    if len(kept) == len(query.candidates) > 1:
        return query
    barred = {query.subject_id, *query.candidates}
    pool = [entity for entity in entities.values() if entity.id not in barred]
    pool.sort(key=lambda entity: (not entity.published, hash_text(f"{query.fact_id}|{entity.id}")))
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


def draw_again(
    query: PublishedQuery,
    entities: Mapping[str, Entity],
    correct: Iterable[Entity],
    answers: Sequence[str],
) -> PublishedQuery:
    """Return the repaired query with as many distractors, drawn by their frequency as answers.

    Distractors are the answers of other queries of the relation, drawn at random (`shuffle`), then
    other entities of the relation if more are needed. An entity is thus drawn in proportion to the
    number of queries that it answers (sampling without replacement), so that its frequency does not
    give the answer away. Excluded are the subject, correct entities, and entities that share a
    label with a correct one or an earlier distractor. `answers` has the answer of each query of the
    relation. A query for which fewer distractors are found keeps its own.
    """
    right = list(correct)
    others = sorted(set(entities).difference(answers))
    kept = [entities[query.answer]]
    for name in chain(shuffle(answers, query.fact_id), shuffle(others, query.fact_id)):
        if len(kept) == len(query.candidates):
            break
        entity = entities[name]
        if name != query.subject_id and not clashes(entity, right) and not clashes(entity, kept):
            kept.append(entity)
    names = [entity.id for entity in kept]
    if len(names) < len(query.candidates) or set(names) == set(query.candidates):
        return query
    return query.repaired(shuffle(sorted(names), f"{query.fact_id}|places"), "drawn_again")


def move_answer(query: PublishedQuery) -> PublishedQuery:
    """Return the query with its answer moved to a position drawn by the hash of its id."""
    others = [name for name in query.candidates if name != query.answer]
    place = hash_text(query.fact_id) % len(query.candidates)
    codes = () if place == len(others) else ("answer_moved",)
    others.insert(place, query.answer)
    return query.repaired(others, *codes)


def write_row(query: PublishedQuery, published: Row, wording: Wording) -> Row:
    """Return the row of a repaired query in one language."""
    shown = clean(published.subject, wording.language)
    subject = turn(correct(shown, query.subject_id, wording.language), wording.language)
    prompt = wording.template or clean(published.prompt, wording.language).replace(shown, "[X]")
    codes = [*query.repairs, *find_codes(published, subject, wording)]
    answer = query.candidates.index(query.answer)
    return Row(
        fact_id=query.fact_id,
        relation=query.relation,
        subject_id=query.subject_id,
        object_id=query.answer,
        subject=subject,
        prompt=prompt.replace("[X]", subject),
        candidates=wording.labels,
        candidate_ids=list(query.candidates),
        answers=[answer],
        answer_forms=[wording.labels[answer]],
        template_id=f"polyprobe:{query.relation}" if wording.template else query.relation,
        repairs=sorted(codes, key=list(REPAIRS).index),
        published_row=query.published_row,
    )


def find_codes(published: Row, subject: str, wording: Wording) -> list[str]:
    """Return the codes of the repairs in this language only; `subject` is the repaired one."""
    shown = [clean(label, wording.language) for label in published.candidates]
    prompts = [] if wording.template else [published.prompt]
    texts = [published.subject, *published.candidates, *prompts]
    found = {
        "parallel": shown != wording.meant,
        "label": wording.labels != wording.original
        or subject != clean(published.subject, wording.language),
        "template": bool(wording.template),
        "invisible_characters": any(find_invisible(text, wording.language) for text in texts),
        "mixed_alphabets": any(unmix(text) != text for text in texts),
        "simplified": any(simplify(text, wording.language) != text for text in texts),
    }
    return [code for code, is_so in found.items() if is_so]
