"""The word-boundary piece at the start of a candidate, and where it is dropped."""

from typing import Any

from polyprobe.schema.columns import SLOT

BOUNDARY = "▁"


def fit(prompt: str, fillings: list[tuple[int, ...]], tokenizer: Any) -> list[tuple[int, ...]]:
    """Return the candidates' pieces as they fit into the prompt's slot.

    Tokenizers that mark words by `▁` split a candidate of a script without blanks into `▁`, `北京`.
    Behind a character other than a blank there is no word boundary, so the separate piece is
    dropped. At the start of a sentence and behind a blank it is kept (our rule; the released code
    drops it only for XLM-R in Chinese). A piece that contains the boundary (`▁Paris`) is kept.
    """
    before = prompt[: prompt.index(SLOT)]
    if not before or before[-1].isspace():
        return fillings
    return [_without_boundary(pieces, tokenizer) for pieces in fillings]


def _without_boundary(pieces: tuple[int, ...], tokenizer: Any) -> tuple[int, ...]:
    separate = len(pieces) > 1 and tokenizer.convert_ids_to_tokens(pieces[0]) == BOUNDARY
    return pieces[1:] if separate else pieces


def only_unknown(pieces: tuple[int, ...], tokenizer: Any) -> bool:
    """Return whether all pieces except boundaries are unknown tokens, and at least one is."""
    if tokenizer.unk_token_id not in pieces:
        return False
    names = tokenizer.convert_ids_to_tokens(list(pieces))
    return all(
        n == BOUNDARY or p == tokenizer.unk_token_id for n, p in zip(names, pieces, strict=True)
    )
