"""Ids of many texts, equal to those of the tokenizer's own call."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from transformers import PreTrainedTokenizerFast

from .forward import Ids

_OVERRIDES = ("__call__", "_encode_plus", "_convert_encoding")


def list_ids(tokenizer: Any, texts: Sequence[str], special: bool = True) -> list[Ids]:
    """Return the ids of each text: `tokenizer(texts, add_special_tokens=special)["input_ids"]`."""
    texts = [*texts]
    fast = isinstance(tokenizer, PreTrainedTokenizerFast) and all(
        getattr(type(tokenizer), name) is getattr(PreTrainedTokenizerFast, name)
        for name in _OVERRIDES
    )
    if not texts or not fast:
        encoded = tokenizer(texts, add_special_tokens=special)["input_ids"] if texts else []
        return [*map(tuple, encoded)]
    tokenizer("")  # as each call, this sets the backend's truncation, padding and special tokens
    backend = tokenizer.backend_tokenizer
    return _encode(backend, texts, special)


def list_heads(heads: Iterable[str], encode: Callable[[list[str]], list[Ids]]) -> dict[str, Ids]:
    """Return the ids of each head, and of each without the blanks at its end."""
    whole = [*dict.fromkeys(heads)]
    forms = [*dict.fromkeys([*whole, *map(str.rstrip, whole), *(x.rstrip(" ") for x in whole)])]
    return dict(zip(forms, encode(forms), strict=True))


def _encode(backend: Any, texts: Iterable[str], special: bool) -> list[Ids]:
    encodings = backend.encode_batch_fast([*texts], add_special_tokens=special)
    return [tuple(encoding.ids) for encoding in encodings]
