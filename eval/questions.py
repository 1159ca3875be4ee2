"""What is asked of each fact: its candidates in its own sentence, and two further questions.

The second question has the same candidates in a sentence about another subject, the donor. Rankings
that agree between the two sentences do not depend on the subject. The third is the prompt's own
log-probability: behind a BOS alone, the text before the slot is scored like a candidate, by the sum
over its tokens (Fluent-mLAMA, section 5.4).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from polyprobe.metrics.shared.floors import answer_frequency, compare_names
from polyprobe.schema.columns import SLOT, name_candidates, read_text_lists
from polyprobe.system.messages import PolyprobeError

from .donors import Donors

PROMPT_START = "prompt_start"  # column of the texts before the slot
# Columns that `annotate` adds; DONOR_PROMPT is asked and the others are stored with the scores.
DONOR, DONOR_PROMPT, LENGTHS = "donor", "donor_prompt", "n_characters"
BASELINE, MAJORITY, FLAGS = "baseline", "majority", "flags"
NO_DONORS = Donors([], [], [])


def annotate(
    tables: Mapping[str, pa.Table],
    donors: Donors = NO_DONORS,
    rows: Sequence[int] | None = None,
) -> dict[str, pa.Table]:
    """Take some rows, with the columns of the second question, of name floors and of baselines."""
    # The splits are whole: their other rows count in the baselines. Without donors there is no
    # second question.
    annotated: dict[str, pa.Table] = {}
    labels: list[list[str]] | None = None
    for language, split in tables.items():
        numbers = [*range(len(split))] if rows is None else [*rows]
        nothing = [None] * len(numbers)
        places = pa.array([donors.rows[k] for k in numbers] if donors.rows else nothing, pa.int64())
        names, table = name_candidates(split), split.take(numbers)
        if names != labels:  # ids are the same in every language
            labels = names
            columns = split.select(["relation", "fact_id", "answers"]).to_pydict()
            arguments = columns["relation"], columns["fact_id"], names, columns["answers"]
            baseline, majority = (answer_frequency(*arguments, x, numbers) for x in (False, True))
        lists = read_text_lists(table["candidates"])
        answers = [
            donors.answers[k] if len(candidates) == donors.sizes[k] else None
            for k, candidates in zip(numbers if donors.rows else (), lists, strict=False)
        ]
        added = {
            DONOR: split["fact_id"].take(places).cast(pa.string()),
            DONOR_PROMPT: split["prompt"].take(places).cast(pa.string()),
            "donor_answers": pa.array(answers or nothing, pa.list_(pa.int32())),
            LENGTHS: pa.array([[*map(len, row)] for row in lists], pa.list_(pa.int32())),
            BASELINE: pa.array(baseline, pa.float32()),
            MAJORITY: pa.array(majority, pa.float32()),
        }
        if donors.rows and "subject" in split.column_names:
            added |= _compare_names("", table["subject"].to_pylist(), lists)
            added |= _compare_names("donor_", split["subject"].take(places).to_pylist(), lists)
        if FLAGS not in table.column_names:
            added[FLAGS] = pa.array([[]] * len(table), pa.list_(pa.string()))
        for name, column in added.items():
            table = table.append_column(name, column)
        annotated[language] = table
    return annotated


def _compare_names(
    prefix: str, subjects: Sequence[str | None], lists: Sequence[Sequence[str]]
) -> dict[str, pa.Array]:
    """Compare the names of the candidates with the subject's: bigrams, and the first letter."""
    pairs = [(x, name) for x, names in zip(subjects, lists, strict=True) if x for name in names]
    sizes = [len(names) if x else 0 for x, names in zip(subjects, lists, strict=True)]
    # An offset that is null makes its row null.
    missing = np.array([*(not x for x in subjects), False])
    ends = pa.array(np.insert(np.cumsum(sizes), 0, 0), pa.int32(), mask=missing)
    bigrams, initials = compare_names(pairs)
    columns = {"bigrams": bigrams.astype(np.float32), "initials": initials}
    return {f"{prefix}{x}": pa.ListArray.from_arrays(ends, pa.array(y)) for x, y in columns.items()}


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
