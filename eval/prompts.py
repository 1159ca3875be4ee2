"""The log-probability of each row's own prompt, asked as one more query.

Behind a BOS alone, the text before the slot is scored like a candidate of the empty prompt: the sum
of the log-probabilities of its tokens (Fluent-mLAMA, section 5.4).
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from polyprobe.schema.columns import SLOT
from polyprobe.system.errors import PolyprobeError

PROMPT_START = "prompt_start"  # column of the texts before the slot
SCORING = "object"  # a sum over tokens
OPTION = "--prompt-probability"


def check_scoring(wanted: bool, scoring: str) -> None:
    """Refuse a scoring that does not sum over tokens."""
    if wanted and scoring != SCORING:
        raise PolyprobeError(f"{OPTION} is for --scoring {SCORING}; got --scoring {scoring}")


def check_prefix(scorer: Any) -> None:
    """Refuse a model without a BOS in front of the first token, which then has no context."""
    check_scoring(True, scorer.scoring)
    if scorer.bos is None:
        raise PolyprobeError(f"{OPTION} is for causal models; leave it out")
    try:
        scorer.prefixes([""])
    except PolyprobeError:
        raise PolyprobeError(
            f"{OPTION} needs a BOS, behind which the prompt's first token is scored; give --bos "
            f"always if the tokenizer has one, or leave {OPTION} out"
        ) from None


def add_starts(tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Return the tables with PROMPT_START, null where nothing but blanks is before the slot."""
    added = {}
    for language, table in tables.items():
        starts = [prompt.partition(SLOT)[0] for prompt in table["prompt"].to_pylist()]
        column = pa.array([text if text.strip() else None for text in starts], pa.string())
        added[language] = table.append_column(PROMPT_START, column)
    return added
