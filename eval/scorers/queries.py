"""What a model can be asked: prompts with one slot, and texts to put there."""

from collections.abc import Sequence

from polyprobe import PolyprobeError

from ..slot import SLOT


def check_queries(prompts: Sequence[str], candidates: Sequence[Sequence[str]]) -> None:
    """Refuse prompts without exactly one slot, and candidates that are none.

    Raises:
        PolyprobeError: the first query that cannot be asked, by its number.
    """
    if len(prompts) != len(candidates):
        raise PolyprobeError(f"{len(prompts)} prompts but {len(candidates)} lists of candidates")
    for number, (prompt, row) in enumerate(zip(prompts, candidates, strict=True)):
        if prompt.count(SLOT) != 1:
            raise PolyprobeError(
                f"prompt {number} holds the slot {SLOT} {prompt.count(SLOT)} times, "
                f"expected once: {prompt!r}"
            )
        if isinstance(row, str):
            raise PolyprobeError(
                f"the candidates of prompt {number} are the text {row!r}; expected a list of texts"
            )
        if not row:
            raise PolyprobeError(f"prompt {number} has no candidates: {prompt!r}")
        for candidate in row:
            if not candidate.strip():
                raise PolyprobeError(f"prompt {number} has an empty candidate: {prompt!r}")
