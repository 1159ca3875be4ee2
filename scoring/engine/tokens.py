"""Ids of many texts, equal to those of the tokenizer's own call; a word is tokenized once."""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from transformers import PreTrainedTokenizerFast

from .forward import Ids

FEW = 16  # texts that are not worth a look at the tokenizer
EVERY = 256  # of so many texts is tokenized as a whole too, to be sure
MARK = "\ud800"  # a lone surrogate, which no tokenizer takes
BLOCK = 1024  # characters: long texts may have a beginning of so many in common
_OVERRIDES = ("__call__", "_encode_plus", "_convert_encoding")
# Normalizers that change a character whatever is behind the next blank
_LOCAL = ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Precompiled")
_GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_WHITE = ("WhitespaceSplit", "Whitespace", "BertPreTokenizer")
# Patterns whose matches neither cross a blank behind a character nor look beyond it: a match is all
# white, or at most its first character is a blank. `(?!\S)` holds at a blank and at the end.
_KIND = r"\\p\{[LMNPS]\w?\}"
_CLASS = rf"\[(?:\^\\s|(?!\^))(?:{_KIND}|\\[rn](?!-)|\\[^\w\s]|[^\s\\\[\]])+\]"
_ATOM = rf"(?:{_KIND}|{_CLASS}|\(\?i?:[^()\\\s.^$]+\)|[\w'])(?:[?*+]|\{{[\d,]+\}})*"
_BRANCH = rf"(?:\\s\*\[\\r\\n\]\+?|\\s\+(?:\(\?!\\S\))?|(?: \?|\[\^[^\]]+\]\?\+?)?(?:{_ATOM})+)"
_PATTERN = re.compile(rf"{_BRANCH}(?:\|{_BRANCH})*")


def list_ids(tokenizer: Any, texts: Sequence[str], special: bool = True) -> list[Ids]:
    """Return the ids of each text: `tokenizer(texts, add_special_tokens=special)["input_ids"]`."""
    texts = [*texts]
    fast = isinstance(tokenizer, PreTrainedTokenizerFast) and all(
        getattr(type(tokenizer), name) is getattr(PreTrainedTokenizerFast, name)
        for name in _OVERRIDES
    )
    if len(texts) < FEW or not fast:
        encoded = tokenizer(texts, add_special_tokens=special)["input_ids"] if texts else []
        return [*map(tuple, encoded)]
    tokenizer("")  # as each call, this sets the backend's truncation, padding and special tokens
    backend = tokenizer.backend_tokenizer
    frame = _find_frame(backend, texts[0]) if special else ((), ())
    if frame is not None and splits_at_blanks(backend):
        ids, some = _join_words(backend, texts, special, *frame), slice(0, None, EVERY)
        if ids[some] == _encode(backend, texts[some], special):
            return ids
    return _encode(backend, texts, special)


def list_heads(heads: Iterable[str], encode: Callable[[list[str]], list[Ids]]) -> dict[str, Ids]:
    """Return the ids of each head, and of each without the blanks at its end."""
    whole = [*dict.fromkeys(heads)]
    forms = [*dict.fromkeys([*whole, *map(str.rstrip, whole), *(x.rstrip(" ") for x in whole)])]
    return dict(zip(forms, encode(forms), strict=True))


def splits_at_blanks(backend: Any) -> bool:
    """Return whether the ids of words, each with the blank before it, are those of their text.

    So it is with patterns like GPT-2's, with SentencePiece's `▁` where it splits, with BERT's
    words; behind a letter, digit, mark or sign. Other tokenizers are not known.
    """
    added = backend.get_added_tokens_decoder().values()
    if any(" " in token.content or token.rstrip for token in added):
        return False
    try:
        parts = (backend.normalizer, backend.pre_tokenizer)
        normalizers, splitters = [_list_steps(part and part.__getstate__()) for part in parts]
    except Exception:  # raised for a step in Python, which has no description
        return False
    marks = any(step["type"] == "Metaspace" and step["split"] for step in splitters)
    white = any(step["type"] in _WHITE for step in splitters)
    local = all(
        step["type"] in _LOCAL
        or (step["type"] == "BertNormalizer" and white and not marks)
        or (step["type"] == "Strip" and not step["strip_left"])
        or (step["type"] == "Replace" and step["pattern"] == {"Regex": " {2,}"} and marks)
        for step in normalizers
    )
    seen = not any(step["type"] in ("ByteLevel", "Metaspace") for step in splitters[:-1])
    patterns = [_pattern_of(step) for step in splitters]
    splits = marks or white or any(pattern.endswith(r"|\s+") for pattern in patterns)
    dropout = getattr(backend.model, "dropout", None)
    return local and seen and splits and not dropout and all(map(_PATTERN.fullmatch, patterns))


def _list_steps(part: Any) -> list[dict[str, Any]]:
    step = json.loads(part) if isinstance(part, bytes) else part or {"normalizers": []}
    inner = step.get("normalizers", step.get("pretokenizers"))
    return [step] if inner is None else [x for one in inner for x in _list_steps(one)]


def _pattern_of(step: dict[str, Any]) -> str:
    """Return the pattern at which a step splits, or its name; nothing if it is not known."""
    kind = step["type"]
    if step.get("behavior", "Isolated") not in ("Isolated", "Removed"):
        return ""
    if kind == "Split":
        return str(step["pattern"].get("Regex", ""))
    if kind == "ByteLevel" and step["use_regex"]:
        return _GPT2
    return kind if kind in ("ByteLevel", "Digits", "Metaspace", "Punctuation", *_WHITE) else ""


def _find_frame(backend: Any, text: str) -> tuple[Ids, Ids] | None:
    """Return the special tokens around each text, None if it is not clear."""
    [bare], [complete] = _encode(backend, [text], False), _encode(backend, [text], True)
    ends = range(len(bare), len(complete) + 1)
    at = [end for end in ends if complete[end - len(bare) : end] == bare]
    return (complete[: at[0] - len(bare)], complete[at[0] :]) if len(at) == 1 else None


def _join_words(
    backend: Any, texts: Sequence[str], special: bool, front: Ids, behind: Ids
) -> list[Ids]:
    # A long beginning that texts have in common is put together once.
    ends = [text.rfind(" ", 0, (len(text) - BLOCK // 2) // BLOCK * BLOCK) for text in texts]
    pairs = [(text[: max(0, at)], text[max(0, at) :]) for text, at in zip(texts, ends, strict=True)]
    distinct = dict.fromkeys(chain.from_iterable(pairs))
    parts = {part: part.replace(" ", f"{MARK} ").split(MARK) for part in distinct}
    words = [*dict.fromkeys(chain.from_iterable(parts.values()))]
    ids = dict(zip(words, _encode(backend, words, False), strict=True))
    joined = {x: tuple(chain.from_iterable(map(ids.__getitem__, parts[x]))) for x in parts}
    rows = [(*front, *joined[head], *joined[rest], *behind) for head, rest in pairs]
    unsure = {word for word in words if word and not _ends_word(word)}
    if unsure:
        pieces = ([*parts[head], *parts[rest][:-1]] for head, rest in pairs)
        whole = [k for k, row in enumerate(pieces) if not unsure.isdisjoint(row)]
        for k, row in zip(whole, _encode(backend, [texts[k] for k in whole], special), strict=True):
            rows[k] = row
    return rows


def _ends_word(word: str) -> bool:
    # A normalizer may make blanks of `▁` and U+FFFD, and nothing of a mark without a letter.
    first, last = [unicodedata.category(x)[0] for x in (word.strip()[:1] or " ", word[-1])]
    sure = last in "LNPS" or (last == "M" and first in "LNPS")
    return sure and "▁" not in word and "\ufffd" not in word


def _encode(backend: Any, texts: Iterable[str], special: bool) -> list[Ids]:
    encodings = backend.encode_batch_fast([*texts], add_special_tokens=special)
    return [tuple(encoding.ids) for encoding in encodings]
