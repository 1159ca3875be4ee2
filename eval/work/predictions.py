"""Decode a run's languages one by one (free decoding, X-FACTR)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa
from rich.progress import TaskID

from polyprobe.schema.run.folder import PREDICTIONS, Run
from polyprobe.schema.run.protocol import read_forms
from polyprobe.schema.run.settings import Settings
from polyprobe.scoring.decoding import Hypothesis, decode, read_confidences
from polyprobe.scoring.engine import Progress
from polyprobe.scoring.options import DecodingOptions
from polyprobe.scoring.scorers import MaskedScorer, Scorer
from polyprobe.scoring.scorers.queries import fit
from polyprobe.system.messages import Console, naming_language

from .fill import ProgressBars


def fill_predictions(
    scorer: Scorer, decoding: DecodingOptions, run: Run, _: Settings, tables: Mapping[str, pa.Table]
) -> None:
    """Decode the slots of these rows and write the predictions of each complete language."""
    assert isinstance(scorer, MaskedScorer)  # `load` accepts no other
    console = Console(stderr=True)
    with ProgressBars(console, len(tables)) as bars:
        for language, table in tables.items():
            bar = bars.add_task(language, total=None)

            def advance(done: int, total: int, bar: TaskID = bar) -> None:
                bars.update(bar, completed=done, total=total)

            with naming_language(language):
                made, left_out = predict(scorer, table, language, decoding, advance)
            if left_out:
                console.print(
                    f"warning: language '{language}': {len(left_out)} of {len(table)} facts are "
                    "excluded: their label contains an unknown token (the first is "
                    f"{left_out[0]!r})",
                )
            run.write(language, made)
            bars.remove_task(bar)
            bars.advance(bars.languages)


class Predicted(NamedTuple):
    """A language's predictions."""

    table: pa.Table  # one row for each fact, with the columns of `PREDICTIONS`
    left_out: list[str]  # the gold labels of the excluded facts


def predict(
    scorer: MaskedScorer,
    table: pa.Table,
    language: str,
    options: DecodingOptions,
    progress: Progress | None = None,
) -> Predicted:
    """Decode the object of every row, and add the accepted answers."""
    # The gold label is the label of the first correct candidate. A fact whose gold label contains
    # an unknown token, or no token, is excluded: its prediction is null. `single_token` is true if
    # the gold label is one token in this prompt's slot, as `MaskedScorer` inserts it.
    tokenizer = scorer.tokenizer
    rows = table.select(["prompt", "candidates", "answers"]).to_pylist()
    golds = [row["candidates"][row["answers"][0]] for row in rows]
    fillings = [_fill(scorer, row["prompt"], g) for row, g in zip(rows, golds, strict=True)]
    places = [k for k, filling in enumerate(fillings) if filling]
    prompts = [rows[k]["prompt"] for k in places]
    decoded = decode(scorer, prompts, options.masks(language), options, progress)
    decoded_at = dict(zip(places, decoded, strict=True))
    decoded_rows = [decoded_at.get(k) for k in range(len(rows))]
    gold_logs: dict[int, tuple[float, ...]] = {}
    if options.gold:
        logs = read_confidences(scorer, prompts, [fillings[k] for k in places])
        gold_logs = dict(zip(places, logs, strict=True))
    accepted = zip(rows, read_forms(table), strict=True)
    forms = [_spellings(tokenizer, row["prompt"], labels) for row, labels in accepted]
    columns = table.select(["fact_id", "relation", "prompt"]).to_pydict() | {
        "answer_forms": [[*lengths_of] for lengths_of in forms],
        "prediction": [d and _text(tokenizer, d.tokens) for d in decoded_rows],
        "n_masks": [d and len(d.tokens) for d in decoded_rows],
        "log_probability": [d and d.log_probability for d in decoded_rows],
        "fillings": [d and [_filling(tokenizer, h) for h in d.fillings] for d in decoded_rows],
        "single_token": [len(filling) == 1 if filling else None for filling in fillings],
        "form_lengths": [[*lengths_of.values()] for lengths_of in forms],
        "gold_log_c": [gold_logs.get(k) for k in range(len(rows))],
    }
    left_out = [gold for gold, filling in zip(golds, fillings, strict=True) if not filling]
    return Predicted(pa.table(columns, schema=PREDICTIONS), left_out)


def _fill(scorer: MaskedScorer, prompt: str, gold: str) -> tuple[int, ...]:
    """Return the tokens of a label in the slot, none if one of them is unknown."""
    ids = scorer.tokenizer(gold, add_special_tokens=False)["input_ids"]
    if not ids or scorer.tokenizer.unk_token_id in ids:
        return ()
    return fit(prompt, [tuple(ids)], scorer.tokenizer)[0]


def _spellings(tokenizer: Any, prompt: str, forms: list[str]) -> dict[str, int]:
    """Return the number of tokens in the slot of each form, and of each as it is decoded."""
    # BERT's tokenizer decodes 北京 as `北 京` and Saint-Denis as `Saint - Denis`: without these
    # spellings a model that predicts the tokens of the answer would be wrong. They follow the
    # forms; forms with unknown tokens have none.
    ids = tokenizer(forms, add_special_tokens=False)["input_ids"]
    lengths = list(map(len, fit(prompt, [tuple(row) for row in ids], tokenizer)))
    spellings = dict(zip(forms, lengths, strict=True))
    for row, length in zip(ids, lengths, strict=True):
        text = "" if tokenizer.unk_token_id in row else _text(tokenizer, row)
        if text:
            spellings.setdefault(text, length)
    return spellings


def _filling(tokenizer: Any, h: Hypothesis) -> dict[str, Any]:
    return {"ids": h.tokens, "text": _text(tokenizer, h.tokens), "log_c": h.logs}


def _text(tokenizer: Any, ids: tuple[int, ...] | list[int]) -> str:
    text: str = tokenizer.decode(list(ids), skip_special_tokens=True)
    return text.strip()
