"""Queries: prompts with one slot, and the candidates of each as they fit into it."""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from typing import Any, NamedTuple

from polyprobe.schema.columns import SENTENCE_START, SLOT
from polyprobe.scoring.engine import Ids
from polyprobe.system.messages import PolyprobeError, quote

BOUNDARY = "▁"
_SURROGATE = re.compile("[\ud800-\udfff]")


class Queries(NamedTuple):
    """Prompts, as many lists of candidates, and the sub-words of every candidate."""

    prompts: Sequence[str]  # sentences with exactly one slot
    candidates: Sequence[Sequence[str]]  # for each prompt the fillers of its slot
    # The sub-words of each candidate, tokenized alone without special tokens
    pieces: dict[str, Ids]

    @property
    def sentences(self) -> list[str]:
        """Return each prompt with each of its candidates in the slot."""
        rows = zip(self.prompts, self.candidates, strict=True)
        return [prompt.replace(SLOT, candidate) for prompt, row in rows for candidate in row]

    def fillings(self, tokenizer: Any) -> Iterator[tuple[str, list[Ids]]]:
        """Yield each prompt with the sub-words of its candidates as they fit into the slot."""
        for prompt, row in zip(self.prompts, self.candidates, strict=True):
            yield prompt, fit(prompt, [self.pieces[candidate] for candidate in row], tokenizer)


def list_queries(prompts: Any, candidates: Any) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """List prompts and candidates; each prompt has one slot, and each candidate is a text."""
    prompts, candidates = _list("prompts", prompts), [*_list("candidates", candidates)]
    if len(prompts) != len(candidates):
        raise PolyprobeError(f"{len(prompts)} prompts but {len(candidates)} lists of candidates")
    for number, (prompt, row) in enumerate(zip(prompts, candidates, strict=True)):
        _check_text(f"prompt {number}", prompt)
        if prompt.count(SLOT) != 1:
            raise PolyprobeError(
                f"prompt {number} holds the slot {SLOT} {prompt.count(SLOT)} times, "
                f"expected once: {prompt!r}"
            )
        candidates[number] = row = _list(f"candidates of prompt {number}", row)
        if not row:
            raise PolyprobeError(f"prompt {number} has no candidates: {prompt!r}")
        for candidate in row:
            _check_text(f"a candidate of prompt {number}", candidate)
            if not candidate.strip():
                raise PolyprobeError(f"prompt {number} has an empty candidate: {prompt!r}")
    return prompts, candidates


def _list(name: str, values: Any) -> Sequence[Any]:
    if isinstance(values, list | tuple):
        return values
    if not isinstance(values, str | bytes | Mapping | Set):
        with suppress(TypeError):
            return [*values]
    kind = "the text " if isinstance(values, str) else ""
    raise PolyprobeError(f"the {name} are {kind}{quote(values)}; expected a list of texts")


def _check_text(name: str, text: Any) -> None:
    if not isinstance(text, str):
        raise PolyprobeError(f"{name} is {quote(text)}; expected a text")
    if not text.isascii() and _SURROGATE.search(text):
        raise PolyprobeError(f"{name} has a lone surrogate, which UTF-8 has not: {text[:80]!a}")


def fit(prompt: str, fillings: list[Ids], tokenizer: Any) -> list[Ids]:
    """Return the candidates' pieces as they fit into the prompt's slot."""
    # Tokenizers that mark words by `▁` split a candidate of a script without blanks into `▁`,
    # `北京`. Behind a character other than a blank there is no word boundary, so the separate piece
    # is dropped. At the start of a sentence and behind a blank it is kept (our rule; the released
    # code drops it only for XLM-R in Chinese). A piece that contains the boundary (`▁Paris`) is
    # kept.
    before = prompt[: prompt.index(SLOT)]
    if before[-1:] in ("", SENTENCE_START) or before[-1].isspace():
        return fillings
    return [
        pieces[1:]
        if len(pieces) > 1 and tokenizer.convert_ids_to_tokens(pieces[0]) == BOUNDARY
        else pieces
        for pieces in fillings
    ]


def join_context(text: str) -> str:
    """Return a text as the model reads it, with its context."""
    return text.replace(SENTENCE_START, "")


def find_unknown(pieces: Mapping[str, Ids], tokenizer: Any) -> set[str]:
    """Find the candidates with an unknown token and no other one but boundaries."""
    unknown = getattr(tokenizer, "unk_token_id", None)  # a chat server has no tokenizer
    rests = {c: {*ids} - {unknown} for c, ids in pieces.items() if unknown in ids}
    names = {c: tokenizer.convert_ids_to_tokens([*rest]) for c, rest in rests.items()}
    return {candidate for candidate, rest in names.items() if {*rest} <= {BOUNDARY}}
