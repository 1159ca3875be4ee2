"""The word-boundary piece at the start of a candidate, and where it is dropped."""

from typing import Any

BOUNDARY = "▁"


def follows_text(prompt: str, slot: str) -> bool:
    """Return whether the slot stands directly behind a character that is no blank."""
    before = prompt[: prompt.index(slot)]
    return bool(before) and not before[-1].isspace()


def fitted(pieces: tuple[int, ...], tokenizer: Any, bare: bool) -> tuple[int, ...]:
    """Return the candidate's pieces, without a lone boundary piece at the start where bare.

    Tokenizers that mark words by `▁` give a candidate of a script without blanks as `▁`, `北京`.
    Behind a character other than a blank there is no word boundary, so the lone piece is dropped;
    at the start of a sentence and behind a blank it stays (SPEC section 2). A piece that the
    boundary has merged into (`▁Paris`) stays always.
    """
    if bare and len(pieces) > 1 and tokenizer.convert_ids_to_tokens(pieces[0]) == BOUNDARY:
        return pieces[1:]
    return pieces


def only_unknown(pieces: tuple[int, ...], tokenizer: Any) -> bool:
    """Return whether the candidate is nothing but unknown tokens, boundary pieces aside."""
    if tokenizer.unk_token_id not in pieces:
        return False
    names = tokenizer.convert_ids_to_tokens(list(pieces))
    return all(
        n == BOUNDARY or p == tokenizer.unk_token_id for n, p in zip(names, pieces, strict=True)
    )
