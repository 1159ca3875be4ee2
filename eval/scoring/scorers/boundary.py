"""The word-boundary piece at the start of a candidate, and where it is dropped."""

from typing import Any

from polyprobe.schema.columns import SLOT

BOUNDARY = "▁"


def fit(prompt: str, fillings: list[tuple[int, ...]], tokenizer: Any) -> list[tuple[int, ...]]:
    """Return the candidates' pieces as they fit into the prompt's slot.

    Tokenizers that mark words by `▁` give a candidate of a script without blanks as `▁`, `北京`.
    Behind a character other than a blank there is no word boundary, so the lone piece is dropped;
    at the start of a sentence and behind a blank it stays (our rule;
    the released code drops it for XLM-R in Chinese alone). A piece that the
    boundary has merged into (`▁Paris`) stays always.
    """
    before = prompt[: prompt.index(SLOT)]
    if not before or before[-1].isspace():
        return fillings
    return [_without_boundary(pieces, tokenizer) for pieces in fillings]


def _without_boundary(pieces: tuple[int, ...], tokenizer: Any) -> tuple[int, ...]:
    lone = len(pieces) > 1 and tokenizer.convert_ids_to_tokens(pieces[0]) == BOUNDARY
    return pieces[1:] if lone else pieces


def only_unknown(pieces: tuple[int, ...], tokenizer: Any) -> bool:
    """Return whether the candidate is nothing but unknown tokens, boundary pieces aside."""
    if tokenizer.unk_token_id not in pieces:
        return False
    names = tokenizer.convert_ids_to_tokens(list(pieces))
    return all(
        n == BOUNDARY or p == tokenizer.unk_token_id for n, p in zip(names, pieces, strict=True)
    )
