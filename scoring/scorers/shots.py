"""Shots: solved examples of the relation in front of each prompt, as its context."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from polyprobe.schema.columns import SENTENCE_START, SLOT, has_prompts
from polyprobe.scoring.options import LETTERS
from polyprobe.system.files import hash_text
from polyprobe.system.messages import PolyprobeError

from .letters import write_question


class Shots(NamedTuple):
    """The rows of a split that are asked, and of each the rows of its examples."""

    rows: Sequence[int] | None = None  # None: all, without examples
    examples: Sequence[Sequence[int]] = ()

    def select(self, table: pa.Table) -> pa.Table:
        """Return the rows that are asked, without their examples."""
        if self.rows is None:
            return table
        if has_prompts(table):
            raise PolyprobeError(
                "--shots needs one prompt for all candidates, but the dataset has rows with a "
                "prompt for each candidate (column 'prompts'); leave it out"
            )
        return table.take(self.rows)

    def put_in_front(self, table: pa.Table, letters: bool = False) -> pa.Table:
        """Return the rows that are asked, with their examples, which are questions for letters."""
        rest = self.select(table)
        if self.rows is None:
            return rest
        places = [*{place: None for row in self.examples for place in row}]
        lines = [write_example(row, letters) for row in table.take(places).to_pylist()]
        texts = dict(zip(places, lines, strict=True))
        rows = zip(self.examples, rest["prompt"].to_pylist(), strict=True)
        prompts = ["".join(texts[x] for x in of) + SENTENCE_START + prompt for of, prompt in rows]
        at = rest.column_names.index("prompt")
        return rest.set_column(at, "prompt", pa.array(prompts, pa.string()))


def write_example(row: Mapping[str, Any], letters: bool) -> str:
    """Write a row with its first right answer, or as a question with the letter of that."""
    candidates, right = row["candidates"], row["answers"][0]
    if not letters:
        return f"{row['prompt'].replace(SLOT, candidates[right])}\n"
    # The order follows from the fact, so that no letter is right more often than others.
    shift = hash_text(row["fact_id"]) % len(candidates)
    question = write_question(row["prompt"], candidates, shift)
    return f"{question.replace(SLOT, LETTERS[(right + shift) % len(candidates)])}\n\n"
