"""Decode a run's languages one by one (free decoding, X-FACTR)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa
from rich.progress import TaskID

from polyprobe.schema.run.folder import PREDICTIONS, Run
from polyprobe.schema.run.protocol import read_forms
from polyprobe.schema.run.settings import Settings
from polyprobe.scoring.decoding import decode, read_confidences
from polyprobe.scoring.engine import Progress
from polyprobe.scoring.options import DecodingOptions
from polyprobe.scoring.scorers import MaskedScorer, Scorer
from polyprobe.scoring.scorers.scorer import fit
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
                    f"{left_out[0]!r})"
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
    tokenizer, questions, fillings, left_out = scorer.tokenizer, [], [], []
    rows = table.select(["fact_id", "relation", "prompt", "candidates", "answers"]).to_pylist()
    for row, forms in zip(rows, read_forms(table), strict=True):
        lengths = _spellings(tokenizer, row["prompt"], forms)
        row.update(answer_forms=[*lengths], form_lengths=[*lengths.values()])
        gold = row["candidates"][row["answers"][0]]
        if filling := _fill(scorer, row["prompt"], gold):
            row["single_token"] = len(filling) == 1
            questions.append(row)
            fillings.append(filling)
        else:
            left_out.append(gold)
    prompts = [row["prompt"] for row in questions]
    decoded = decode(scorer, prompts, options.masks(language), options, progress)
    for row, best in zip(questions, decoded, strict=True):
        texts = [
            {"ids": h.tokens, "text": _text(tokenizer, h.tokens), "log_c": h.logs}
            for h in best.fillings
        ]
        row.update(
            prediction=_text(tokenizer, best.tokens),
            n_masks=len(best.tokens),
            log_probability=best.log_probability,
            fillings=texts,
        )
    logs = read_confidences(scorer, prompts, fillings) if options.gold else ()
    for row, log_c in zip(questions, logs, strict=False):
        row["gold_log_c"] = log_c
    return Predicted(pa.Table.from_pylist(rows, schema=PREDICTIONS), left_out)


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


def _text(tokenizer: Any, ids: tuple[int, ...] | list[int]) -> str:
    text: str = tokenizer.decode(list(ids), skip_special_tokens=True)
    return text.strip()
