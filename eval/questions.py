"""What is asked of each fact: its candidates in its own sentence, and two further questions.

The second question has the same candidates in a sentence about another subject, the donor. Rankings
that agree between the two sentences do not depend on the subject. The third is the prompt's own
log-probability: behind a BOS alone, the text before the slot is scored like a candidate, by the sum
over its tokens (Fluent-mLAMA, section 5.4).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from polyprobe.metrics.shared.frequency import answer_frequency
from polyprobe.schema.columns import SLOT
from polyprobe.schema.identity import name_candidates, name_subjects, read_lists
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.hashing import hash_text

PROMPT_START = "prompt_start"  # column of the texts before the slot
# Columns that `annotate` adds; DONOR_PROMPT is asked and the others are stored with the scores.
DONOR, DONOR_PROMPT, LENGTHS = "donor", "donor_prompt", "n_characters"
BASELINE, MAJORITY, FLAGS = "baseline", "majority", "flags"


def choose_donors(table: pa.Table) -> list[int | None]:
    """Return the row whose sentence is each row's second question; None if there is none."""
    # A donor is a row of the same relation and template about another subject, none of whose
    # answers in the relation is among the candidates. The eligible subjects are in the order of the
    # SHA-256 of their names; the hash of the fact id says where the search begins. So the choice
    # depends on the split alone, not on the rows that a run samples. With ids every split of a
    # dataset gives the same donors; without them labels are compared, and a split of another
    # language gives others.
    columns = table.select(["fact_id", "relation", "prompt", "answers"]).to_pydict()
    facts, relations, prompts = columns["fact_id"], columns["relation"], columns["prompt"]
    subjects, names = name_subjects(table), name_candidates(table)
    templates = [""] * len(table)  # without templates all rows are alike
    if "template_id" in table.column_names:
        templates = table["template_id"].to_pylist()
    right: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row, answers in enumerate(columns["answers"]):
        right[relations[row], subjects[row]].update(names[row][k] for k in answers)
    pools: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for row, subject in enumerate(subjects):
        pools[relations[row], templates[row]].setdefault(subject, row)
    ordered = {
        key: [row for _, row in sorted(pool.items(), key=lambda item: (hash_text(item[0]), item))]
        for key, pool in pools.items()
    }
    donors = []
    for row, fact in enumerate(facts):
        pool = ordered[relations[row], templates[row]]
        start, candidates = hash_text(f"{fact}|donor") % len(pool), set(names[row])
        eligible = (
            donor
            for donor in (*pool[start:], *pool[:start])
            if subjects[donor] != subjects[row]
            and prompts[donor] != prompts[row]
            and candidates.isdisjoint(right[relations[row], subjects[donor]])
        )
        donors.append(next(eligible, None))
    return donors


def annotate(
    tables: Mapping[str, pa.Table], donors: Sequence[int | None] | None
) -> dict[str, pa.Table]:
    """Add the columns of the second question and of the baselines to whole splits."""
    # `donors` are those of `choose_donors`; None: no second question.
    annotated: dict[str, pa.Table] = {}
    labels: list[list[str]] | None = None
    for language, table in tables.items():
        columns = table.select(["relation", "fact_id", "answers", "prompt"]).to_pydict()
        places: Sequence[int | None] = [None] * len(table) if donors is None else donors
        added = {
            DONOR: pa.array(_pick(columns["fact_id"], places), pa.string()),
            DONOR_PROMPT: pa.array(_pick(columns["prompt"], places), pa.string()),
        }
        names = name_candidates(table)
        if names != labels:  # ids are the same in every language
            labels = names
            arguments = (columns["relation"], columns["fact_id"], names, columns["answers"])
            baseline = answer_frequency(*arguments)
            majority = answer_frequency(*arguments, own_fact=True)
        lists = read_lists(table["candidates"])
        sizes = {id(row): [len(text) for text in row] for row in lists}  # rows share lists
        added |= {
            LENGTHS: pa.array([sizes[id(row)] for row in lists], pa.list_(pa.int32())),
            BASELINE: pa.array(baseline, pa.float32()),
            MAJORITY: pa.array(majority, pa.float32()),
        }
        if FLAGS not in table.column_names:
            added[FLAGS] = pa.array([[]] * len(table), pa.list_(pa.string()))
        for name, column in added.items():
            table = table.append_column(name, column)
        annotated[language] = table
    return annotated


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
