"""The released approach: one forward pass for each candidate or sub-word, without sharing.

Rows are converted to token ids by the definitions in appendix B of the BMLAMA paper, independently
of polyprobe's scorers. Batch size 1, `inference_mode`, logits of the whole vocabulary at every
position. Two variants define the quantity that lm-pub-quiz scores.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
)

SLOT = "[Y]"
SENTINEL = "<extra_id_0>"
BOUNDARY = "▁"

Ids = tuple[int, ...]


class Filling(NamedTuple):
    """One candidate of a prompt: its sub-words, and the prompt's ids around them.

    For encoder-decoders, `before` has the encoder's ids and `after` is empty. For decoder-only
    models, `pieces` has the whole sentence.
    """

    before: Ids
    pieces: Ids
    after: Ids


def fill_causal(tokenizer: Any, prompt: str, row: list[str]) -> list[Filling]:
    """Return the whole sentences (eq. 10)."""
    sentences = tokenizer([prompt.replace(SLOT, candidate) for candidate in row])["input_ids"]
    return [Filling((), tuple(ids), ()) for ids in sentences]


def fill_masked(tokenizer: Any, prompt: str, row: list[str]) -> list[Filling]:
    """Return the prompt before and after its slot, and each candidate's sub-words (eq. 8)."""
    ids = tokenizer(prompt.replace(SLOT, tokenizer.mask_token))["input_ids"]
    at = ids.index(tokenizer.mask_token_id)
    before, after = tuple(ids[:at]), tuple(ids[at + 1 :])
    return [Filling(before, pieces, after) for pieces in _split(tokenizer, prompt, row)]


def fill_seq2seq(tokenizer: Any, prompt: str, row: list[str]) -> list[Filling]:
    """Return the encoder's ids with a sentinel, and each candidate's sub-words (eq. 9)."""
    source = tuple(tokenizer(prompt.replace(SLOT, SENTINEL))["input_ids"])
    return [Filling(source, pieces, ()) for pieces in _split(tokenizer, prompt, row)]


FILL = {"causal": fill_causal, "masked": fill_masked, "seq2seq": fill_seq2seq}


def _split(tokenizer: Any, prompt: str, row: list[str]) -> list[Ids]:
    """Return each candidate's sub-words; drop a lone word-boundary piece after a letter."""
    found = [tuple(ids) for ids in tokenizer(row, add_special_tokens=False)["input_ids"]]
    before = prompt[: prompt.index(SLOT)]
    if not before or before[-1].isspace():
        return found
    lone = tokenizer.convert_tokens_to_ids(BOUNDARY)
    return [ids[1:] if len(ids) > 1 and ids[0] == lone else ids for ids in found]


AUTO = {
    "causal": AutoModelForCausalLM,
    "masked": AutoModelForMaskedLM,
    "seq2seq": AutoModelForSeq2SeqLM,
}

Score = Callable[[list[str], list[list[str]]], list[list[float]]]
ScoreOne = Callable[[Any, Any, Filling], float]


def load(family: str, model: str, dtype: str) -> Score:
    """Return the scoring function of equations 8 to 10."""
    score_one = {"causal": score_causal, "masked": score_masked, "seq2seq": score_seq2seq}[family]
    return _load(family, model, dtype, FILL[family], score_one)


def load_peer_quantity(family: str, model: str, dtype: str) -> Score:
    """Return the scoring function of the quantity that lm-pub-quiz scores.

    Decoder-only: equation 10 after a BOS. Encoder-only: equation 8 on the candidate's sub-words
    inside its sentence.
    """
    if family == "causal":
        return _load(family, model, dtype, FILL[family], partial(score_causal, bos=True))
    return _load(family, model, dtype, fill_in_context, score_masked)


def _load(
    family: str,
    model: str,
    dtype: str,
    fill: Callable[[Any, str, list[str]], list[Filling]],
    score_one: ScoreOne,
) -> Score:
    tokenizer = AutoTokenizer.from_pretrained(model)
    network = AUTO[family].from_pretrained(model, dtype=getattr(torch, dtype)).eval()

    @torch.inference_mode()
    def score(prompts: list[str], candidates: list[list[str]]) -> list[list[float]]:
        rows = zip(prompts, candidates, strict=True)
        return [[score_one(network, tokenizer, f) for f in fill(tokenizer, *row)] for row in rows]

    return score


def score_causal(network: Any, tokenizer: Any, filling: Filling, bos: bool = False) -> float:
    """Return the mean log-probability of all tokens except the first."""
    ids = (tokenizer.bos_token_id, *filling.pieces) if bos else filling.pieces
    logits = network(torch.tensor([ids])).logits[0].float()
    return float(_take(logits[:-1], ids[1:]).mean())


def score_masked(network: Any, tokenizer: Any, filling: Filling) -> float:
    """Return the mean log-probability of the sub-words, filled in from left to right."""
    before, pieces, after = filling
    found = []
    for i in range(len(pieces)):
        masks = (tokenizer.mask_token_id,) * (len(pieces) - i)
        ids = torch.tensor([(*before, *pieces[:i], *masks, *after)])
        logits = network(ids).logits[0].float()
        found.append(logits.log_softmax(-1)[len(before) + i, pieces[i]])
    return float(torch.stack(found).mean())


def score_seq2seq(network: Any, tokenizer: Any, filling: Filling) -> float:
    """Return the mean log-probability of the sub-words after the sentinel."""
    start = network.config.decoder_start_token_id
    sentinel = tokenizer.convert_tokens_to_ids(SENTINEL)
    decoder = torch.tensor([(start, sentinel, *filling.pieces[:-1])])
    logits = network(torch.tensor([filling.before]), decoder_input_ids=decoder).logits[0].float()
    return float(_take(logits[1:], filling.pieces).mean())


def fill_in_context(tokenizer: Any, prompt: str, row: list[str]) -> list[Filling]:
    """Return the candidates' sub-words as tokenized inside their sentences."""
    start = prompt.index(SLOT)
    found = []
    for candidate in row:
        encoded = tokenizer(prompt.replace(SLOT, candidate))
        places = {encoded.char_to_token(start + k) for k in range(len(candidate))} - {None}
        first, last = min(places), max(places)
        ids = tuple(encoded["input_ids"])
        found.append(Filling(ids[:first], ids[first : last + 1], ids[last + 1 :]))
    return found


def _take(logits: torch.Tensor, targets: Any) -> torch.Tensor:
    at = torch.as_tensor(targets)[:, None]
    return logits.log_softmax(-1).gather(1, at)[:, 0]
