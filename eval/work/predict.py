"""Dataset rows in, the table of predictions out."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa

from polyprobe.eval.run.folder import PREDICTIONS
from polyprobe.eval.run.protocol import read_forms
from polyprobe.eval.scoring.decoding.batched import Decoded, decode
from polyprobe.eval.scoring.decoding.options import DecodingOptions
from polyprobe.eval.scoring.scorers import MaskedScorer
from polyprobe.eval.scoring.scorers.boundary import fit


class Predicted(NamedTuple):
    """A language's predictions.

    Attributes:
        table: one row a fact, columns as in `PREDICTIONS`.
        left_out: the gold labels of the facts that were not asked.
    """

    table: pa.Table
    left_out: list[str]


def predict(
    scorer: MaskedScorer,
    table: pa.Table,
    language: str,
    options: DecodingOptions,
    progress: Callable[[int, int], None] | None = None,
) -> Predicted:
    """Let the model write the object of every row, and note what would be right.

    The gold label is the label of the first right candidate. A fact whose gold label holds an
    unknown token, or becomes none, is left out: everything predicted is null. `single_token` says
    whether the gold label is one token in this prompt's slot, as `MaskedScorer` puts it there.

    Raises:
        PolyprobeError: answer forms that are no lists of text, and what `decode` raises.
    """
    rows = table.select(["prompt", "candidates", "answers"]).to_pylist()
    golds = [row["candidates"][row["answers"][0]] for row in rows]
    lengths = [_length(scorer, row["prompt"], g) for row, g in zip(rows, golds, strict=True)]
    asked = [k for k, length in enumerate(lengths) if length]
    prompts = [rows[k]["prompt"] for k in asked]
    decoded = decode(scorer, prompts, options.masks(language), options, progress)
    found = dict(zip(asked, decoded, strict=True))
    columns = {
        "fact_id": table["fact_id"].to_pylist(),
        "relation": table["relation"].to_pylist(),
        "prompt": table["prompt"].to_pylist(),
        "answer_forms": [_spellings(scorer.tokenizer, f) for f in read_forms(table)],
        **_columns(scorer.tokenizer, [found.get(k) for k in range(len(rows))]),
        "single_token": [length == 1 if length else None for length in lengths],
    }
    left_out = [gold for gold, length in zip(golds, lengths, strict=True) if not length]
    return Predicted(pa.table(columns, schema=PREDICTIONS), left_out)


def _length(scorer: MaskedScorer, prompt: str, gold: str) -> int:
    """Return how many tokens a label becomes in the slot; 0 where one of them is unknown."""
    ids = scorer.tokenizer(gold, add_special_tokens=False)["input_ids"]
    if not ids or scorer.tokenizer.unk_token_id in ids:
        return 0
    return len(fit(prompt, [tuple(ids)], scorer.tokenizer)[0])


def _spellings(tokenizer: Any, forms: list[str]) -> list[str]:
    """Return the forms, and behind them what the tokenizer makes of each where it is another.

    BERT's decoder writes 北京 as `北 京` and Saint-Denis as `Saint - Denis`: without these the
    model could not be right, even with the very tokens of the answer.
    """
    ids = tokenizer(forms, add_special_tokens=False)["input_ids"]
    known = [row for row in ids if tokenizer.unk_token_id not in row]
    again = [_text(tokenizer, row) for row in known]
    return list(dict.fromkeys([*forms, *filter(None, again)]))


def _columns(tokenizer: Any, decoded: list[Decoded | None]) -> dict[str, list[Any]]:
    return {
        "prediction": [d and _text(tokenizer, d.tokens) for d in decoded],
        "n_masks": [d and len(d.tokens) for d in decoded],
        "log_probability": [d and d.log_probability for d in decoded],
    }


def _text(tokenizer: Any, ids: tuple[int, ...] | list[int]) -> str:
    text: str = tokenizer.decode(list(ids), skip_special_tokens=True)
    return text.strip()
