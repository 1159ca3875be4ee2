"""Correct entities of a row, by Wikidata ids and by other rows with the same prompt."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from polyprobe.builder.facts.truths import Knowledge
from polyprobe.builder.sources.bmlama.linked import PublishedQuery, Rows
from polyprobe.schema.columns import Row


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
    that `knowledge` infers from these.

    Args:
        queries: the queries.
        rows: the published rows of the queries.
        published: rows and queries of every configuration.
        knowledge: the known facts and their implications.
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
