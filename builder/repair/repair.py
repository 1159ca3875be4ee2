"""The repaired rows of a configuration: published rows, linked, mended, written out again."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from ..facts import Facts
from ..linking import link_rows
from ..progress import track
from ..table import Row
from ..truths import Knowledge
from .candidates import mend
from .entities import Entity, Rows, collect_entities, name_others, read_queries
from .query import Query
from .rights import find_rights
from .verbalise import Wording, place_answer, verbalise


class Linked(NamedTuple):
    """The rows of a configuration, each as a query in ids, and the entities of each relation.

    `known` are all labels that are known (`facts.LABELS`).
    """

    rows: Rows
    queries: list[Query]
    entities: Mapping[str, Mapping[str, Entity]]
    known: pl.DataFrame


def link(rows: Rows, known: Facts) -> Linked:
    """Return the rows with the Wikidata ids that `known` has for them."""
    links = link_rows(rows, known)
    entities, answers = collect_entities(rows, links, known)
    queries = read_queries(rows, links, entities, answers)
    return Linked(rows, queries, entities, known.labels)


def repair(
    config: Linked,
    others: Sequence[Linked],
    knowledge: Knowledge,
    templates: Mapping[str, Mapping[str, str]],
) -> tuple[dict[str, list[Row]], list[Query]]:
    """Return {language: repaired rows} in the published order, and the queries that were dropped.

    Args:
        config: the configuration to repair.
        others: further published configurations, whose rows tell of right answers too.
        knowledge: what is true, and what follows from it.
        templates: {relation: {language: template in place of the published one}}.
    """
    published = [(linked.rows, linked.queries) for linked in (config, *others)]
    rights = find_rights(config.queries, config.rows, published, knowledge)
    strangers = name_others(set().union(*rights), config.known, list(config.rows))
    repaired: dict[str, list[Row]] = {language: [] for language in config.rows}
    dropped = []
    for number, query in enumerate(track(config.queries, "repairing rows")):
        block = config.entities[query.relation]
        right = [block.get(name) or strangers.get(name) for name in sorted(rights[number])]
        mended = mend(query, block, [entity for entity in right if entity])
        if mended is None:
            dropped.append(query)
            continue
        placed = place_answer(mended)
        for place, (language, part) in enumerate(config.rows.items()):
            wording = Wording(
                language,
                meant=[block[n].original[place] if n in block else "" for n in query.candidates],
                labels=[block[name].labels[place] for name in placed.candidates],
                original=[block[name].original[place] for name in placed.candidates],
                template=templates.get(query.relation, {}).get(language),
            )
            repaired[language].append(verbalise(placed, part[number], wording))
    return repaired, dropped
