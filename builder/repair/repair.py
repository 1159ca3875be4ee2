"""The repaired rows of a configuration: published rows, linked, mended, written out again."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..facts import Facts
from ..linking import link_rows
from ..progress import track
from ..table import Row
from ..truths import Truths
from .candidates import mend
from .entities import Entity, Rows, collect_entities, read_queries
from .query import Query
from .rights import find_rights
from .verbalise import place_answer, verbalise


class Linked(NamedTuple):
    """The rows of a configuration, each as a query in ids, and the entities of each relation."""

    rows: Rows
    queries: list[Query]
    entities: Mapping[str, Mapping[str, Entity]]


def link(rows: Rows, known: Facts) -> Linked:
    """Return the rows with the Wikidata ids that `known` has for them."""
    links = link_rows(rows, known)
    entities, answers = collect_entities(rows, links, known)
    return Linked(rows, read_queries(rows, links, entities, answers), entities)


def repair(
    config: Linked,
    others: Sequence[Linked],
    truths: Truths,
    templates: Mapping[str, Mapping[str, str]],
) -> tuple[dict[str, list[Row]], list[Query]]:
    """Return {language: repaired rows} in the published order, and the queries that were dropped.

    Args:
        config: the configuration to repair.
        others: further published configurations, whose rows tell of right answers too.
        truths: {(relation, subject): right objects}.
        templates: {relation: {language: template in place of the published one}}.
    """
    published = [(linked.rows, linked.queries) for linked in (config, *others)]
    rights = find_rights(config.queries, config.rows, published, truths)
    repaired: dict[str, list[Row]] = {language: [] for language in config.rows}
    dropped = []
    for number, query in enumerate(track(config.queries, "repairing rows")):
        block = config.entities[query.relation]
        mended = mend(query, block, rights[number])
        if mended is None:
            dropped.append(query)
            continue
        placed = place_answer(mended)
        meant = list_labels(query.candidates, block, len(config.rows))
        labels = list_labels(placed.candidates, block, len(config.rows))
        for (language, part), old, new in zip(config.rows.items(), meant, labels, strict=True):
            template = templates.get(query.relation, {}).get(language)
            row = verbalise(placed, part[number], old, new, language, template)
            repaired[language].append(row)
    return repaired, dropped


def list_labels(
    names: Sequence[str], block: Mapping[str, Entity], languages: int
) -> list[tuple[str, ...]]:
    """Return the labels of the entities, one tuple a language; '' where there is no such entity."""
    found = [block[name].labels if name in block else ("",) * languages for name in names]
    return list(zip(*found, strict=True))
