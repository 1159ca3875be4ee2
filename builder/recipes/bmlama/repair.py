"""Repair a configuration: link the published rows, repair their candidates, write the rows."""

from collections.abc import Mapping, Sequence

from polyprobe.builder.facts.truths import Knowledge
from polyprobe.builder.sources.bmlama.linked import (
    Linked,
    PublishedQuery,
    name_others,
)
from polyprobe.schema.columns import Row
from polyprobe.system.progress import track

from .candidates import repair_query
from .correct import find_correct
from .wording import Wording, move_answer, write_row


def repair(
    config: Linked,
    others: Sequence[Linked],
    knowledge: Knowledge,
    templates: Mapping[str, Mapping[str, str]],
) -> tuple[dict[str, list[Row]], list[PublishedQuery]]:
    """Return {language: repaired rows} in the published order, and the dropped queries.

    Args:
        config: the configuration to repair.
        others: the other published configurations, for further correct answers.
        knowledge: the known facts and their implications.
        templates: {relation: {language: replacement of the published template}}.
    """
    published = [(linked.rows, linked.queries) for linked in (config, *others)]
    correct = find_correct(config.queries, config.rows, published, knowledge)
    strangers = name_others(set().union(*correct), config.known, list(config.rows))
    repaired: dict[str, list[Row]] = {language: [] for language in config.rows}
    dropped = []
    for number, query in enumerate(track(config.queries, "repairing rows")):
        block = config.entities[query.relation]
        right = [block.get(name) or strangers.get(name) for name in sorted(correct[number])]
        repaired_query = repair_query(query, block, [entity for entity in right if entity])
        if repaired_query is None:
            dropped.append(query)
            continue
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
