"""What a row becomes in token ids, by the definitions in the BMLAMA paper's appendix B.

Written apart from polyprobe's scorers, since the reference and the floor are made of it.
"""

from typing import Any, NamedTuple

SLOT = "[Y]"
SENTINEL = "<extra_id_0>"
BOUNDARY = "▁"

Ids = tuple[int, ...]


class Filling(NamedTuple):
    """One candidate of a prompt: its sub-words, and the prompt's ids around them.

    Encoder-decoders have the encoder's ids in `before` and nothing in `after`; decoder-only
    models, which tokenize the whole sentence, have it in `pieces`.
    """

    before: Ids
    pieces: Ids
    after: Ids


def fill_causal(tokenizer: Any, prompt: str, row: list[str]) -> list[Filling]:
    """Return the whole sentences (eq. 10)."""
    sentences = tokenizer([prompt.replace(SLOT, candidate) for candidate in row])["input_ids"]
    return [Filling((), tuple(ids), ()) for ids in sentences]


def fill_masked(tokenizer: Any, prompt: str, row: list[str]) -> list[Filling]:
    """Return the prompt before and behind its slot, and each candidate's sub-words (eq. 8)."""
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
    """Return each candidate's sub-words; behind a letter a lone word-boundary piece is dropped."""
    found = [tuple(ids) for ids in tokenizer(row, add_special_tokens=False)["input_ids"]]
    before = prompt[: prompt.index(SLOT)]
    if not before or before[-1].isspace():
        return found
    lone = tokenizer.convert_tokens_to_ids(BOUNDARY)
    return [ids[1:] if len(ids) > 1 and ids[0] == lone else ids for ids in found]
