"""What is asked of each fact: its candidates in its own sentence, and two further questions.

The second question has the same candidates in a sentence about another subject, the donor. Rankings
that agree between the two sentences do not depend on the subject. The donor of a fact is another
subject of its relation, chosen by hash, the same in every language.

The third question is the prompt's own log-probability: behind a BOS alone, the text before the slot
is scored like a candidate of the empty prompt, by the sum of the log-probabilities of its tokens
(Fluent-mLAMA, section 5.4).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from polyprobe.metrics.shared.frequency import answer_frequency
from polyprobe.schema.columns import SLOT
from polyprobe.schema.identity import name_candidates, name_subjects, read_lists
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.hashing import hash_text

PROMPT_START = "prompt_start"  # column of the texts before the slot
# Columns that `annotate` adds; DONOR_PROMPT is asked and the others are stored with the scores.
DONOR, DONOR_PROMPT, LENGTHS, BASELINE, MAJORITY, FLAGS = (
    "donor",
    "donor_prompt",
    "n_characters",
    "baseline",
    "majority",
    "flags",
)


class Donor(NamedTuple):
    """What decides whether a row may be another one's donor."""

    row: int
    subject: str
    prompt: str
    answers: frozenset[str]


def choose_donors(table: pa.Table) -> list[int | None]:
    """Return the row whose sentence is each row's second question; None if there is none.

    A donor is a row of the same relation and template about another subject, none of whose answers
    in the relation is among the candidates. The eligible subjects are in the order of the SHA-256
    of their names; the hash of the fact id says where the search begins. So the choice depends on
    the split alone, not on the rows that a run samples. With ids every split of a dataset gives the
    same donors; without them labels are compared, and a split of another language gives others.
    """
    columns = table.select(["fact_id", "relation", "prompt", "answers"]).to_pydict()
    subjects, names = name_subjects(table), name_candidates(table)
    places = _templates(table)
    right: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row, (relation, answers) in enumerate(
        zip(columns["relation"], columns["answers"], strict=True)
    ):
        right[relation, subjects[row]].update(names[row][k] for k in answers)
    pools: dict[tuple[str, str], dict[str, Donor]] = defaultdict(dict)
    for row, relation in enumerate(columns["relation"]):
        subject = subjects[row]
        question = Donor(row, subject, columns["prompt"][row], frozenset(right[relation, subject]))
        pools[relation, places[row]].setdefault(subject, question)
    ordered = {
        key: sorted(pool.values(), key=lambda donor: (hash_text(donor.subject), donor.subject))
        for key, pool in pools.items()
    }
    return [
        _find(ordered[relation, places[row]], subjects[row], prompt, names[row], fact)
        for row, (fact, relation, prompt) in enumerate(
            zip(columns["fact_id"], columns["relation"], columns["prompt"], strict=True)
        )
    ]


def _find(
    pool: Sequence[Donor], subject: str, prompt: str, candidates: Sequence[str], fact: str
) -> int | None:
    """Return the row of the first eligible question from a place that the fact's hash gives."""
    start, offered = hash_text(f"{fact}|donor") % len(pool), set(candidates)
    for question in (*pool[start:], *pool[:start]):
        eligible = question.subject != subject and question.prompt != prompt
        if eligible and offered.isdisjoint(question.answers):
            return question.row
    return None


def _templates(table: pa.Table) -> list[str]:
    """Return the template of each row; rows of a dataset without templates are alike."""
    if "template_id" not in table.column_names:
        return [""] * len(table)
    return [str(name) for name in table["template_id"].to_pylist()]


def annotate(
    tables: Mapping[str, pa.Table], donors: Sequence[int | None] | None
) -> dict[str, pa.Table]:
    """Return the tables with the columns of the second question and of the baselines.

    Args:
        tables: whole splits as a protocol asks them.
        donors: from `choose_donors`; None: no second question.
    """
    annotated: dict[str, pa.Table] = {}
    labels: list[list[str]] | None = None
    for language, table in tables.items():
        names = name_candidates(table)
        if names != labels:  # ids are the same in every language
            labels, levels = names, _find_levels(table, names)
        annotated[language] = _annotate(table, donors, levels)
    return annotated


def _find_levels(table: pa.Table, names: Sequence[Sequence[str]]) -> dict[str, np.ndarray]:
    """Return the columns of the most frequent answers, without and with the fact itself."""
    columns = table.select(["relation", "fact_id", "answers"]).to_pydict()
    arguments = (columns["relation"], columns["fact_id"], names, columns["answers"])
    return {
        BASELINE: answer_frequency(*arguments),
        MAJORITY: answer_frequency(*arguments, own_fact=True),
    }


def _annotate(
    table: pa.Table, donors: Sequence[int | None] | None, levels: Mapping[str, np.ndarray]
) -> pa.Table:
    columns = table.select(["fact_id", "prompt"]).to_pydict()
    places: Sequence[int | None] = [None] * len(table) if donors is None else donors
    lists = read_lists(table["candidates"])
    sizes = {id(row): [len(text) for text in row] for row in lists}
    lengths = [sizes[id(row)] for row in lists]
    added = {
        DONOR: pa.array(_pick(columns["fact_id"], places), pa.string()),
        DONOR_PROMPT: pa.array(_pick(columns["prompt"], places), pa.string()),
        LENGTHS: pa.array(lengths, pa.list_(pa.int32())),
        **{name: pa.array(values, pa.float32()) for name, values in levels.items()},
    }
    if FLAGS not in table.column_names:
        added[FLAGS] = pa.array([[]] * len(table), pa.list_(pa.string()))
    for name, column in added.items():
        table = table.append_column(name, column)
    return table


def _pick(values: Sequence[str], places: Sequence[int | None]) -> list[str | None]:
    return [None if place is None else values[place] for place in places]


def check_prefix(scorer: Any) -> None:
    """Refuse a model without a BOS in front of the first token, which then has no context."""
    if scorer.bos is None:
        raise PolyprobeError("--prompt-probability is for causal models; leave it out")
    try:
        scorer.prefixes([""])
    except PolyprobeError:
        raise PolyprobeError(
            "--prompt-probability needs a BOS, behind which the prompt's first token is scored; "
            "give --bos always if the tokenizer has one, or leave --prompt-probability out"
        ) from None


def add_starts(tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Return the tables with PROMPT_START, null where nothing but blanks is before the slot."""
    added = {}
    for language, table in tables.items():
        starts = [prompt.partition(SLOT)[0] for prompt in table["prompt"].to_pylist()]
        column = pa.array([text if text.strip() else None for text in starts], pa.string())
        added[language] = table.append_column(PROMPT_START, column)
    return added
