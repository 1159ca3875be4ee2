"""The options of X-FACTR's decoder (section 4 and appendix C), checked and named."""

from dataclasses import dataclass, fields
from typing import Any, TypedDict

from polyprobe.system.errors import PolyprobeError

SCORING = "xfactr"
_CHOICES = {
    "initial": ("independent", "order", "confidence"),
    "refinement": ("none", "order", "confidence"),
    "refresh": ("always", "released"),
}
SHORT_OBJECTS = ("en", "fr", "nl", "es")  # at most five tokens in over 90 % of objects
FEW_MASKS, MANY_MASKS = 5, 10


class DecodingChoices(TypedDict, total=False):
    """The fields of `DecodingOptions` as keywords of `evaluate_model`."""

    initial: str
    refinement: str
    max_masks: int | None
    length_norm: bool
    recompute: bool
    beam: int
    refresh: str


@dataclass(frozen=True)
class DecodingOptions:
    """How masks are filled, and how the number of masks is chosen.

    Attributes:
        initial: `independent` fills all masks at once, `order` from left to right, `confidence`
            the most probable first.
        refinement: `none`; `order` re-predicts from left to right, `confidence` the least
            probable, until nothing changes or the steps are used up.
        max_masks: M, the largest number of masks (default: 5 in en, fr, nl, es, 10 elsewhere).
        length_norm: compare numbers of masks by the mean of log c, not by the sum.
        recompute: recompute the confidence of every predicted token after every change.
        beam: B, the number of hypotheses.
        refresh: whether a re-predicted token that does not change gets its new confidence
            (`always`, the paper) or keeps the old one (`released`).

    Raises:
        PolyprobeError: an unknown choice, a number below 1.
    """

    initial: str = "independent"
    refinement: str = "none"
    max_masks: int | None = None
    length_norm: bool = False
    recompute: bool = False
    beam: int = 1
    refresh: str = "always"

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            value = getattr(self, name)
            if value not in known:
                raise PolyprobeError(f"unknown --{name} {value!r}; known: {', '.join(known)}")
        for name in ("max_masks", "beam"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise PolyprobeError(f"--{name.replace('_', '-')} must be at least 1, got {number}")

    @property
    def name(self) -> str:
        """Return the exact name of the scoring, for the signature and for resuming a run."""
        masks = self.max_masks or f"{FEW_MASKS}/{MANY_MASKS}"
        parts = [SCORING, self.initial, self.refinement, f"m{masks}", f"b{self.beam}"]
        parts += ["norm"] * self.length_norm + ["recompute"] * self.recompute
        parts += ["refresh-released"] * (self.refresh == "released")
        return "-".join(parts)

    def masks(self, language: str) -> int:
        """Return M, the largest number of masks in a language."""
        return self.max_masks or (FEW_MASKS if language in SHORT_OBJECTS else MANY_MASKS)


def take_decoding(options: dict[str, Any]) -> DecodingOptions | None:
    """Remove the decoder's options from keywords and return them; None for other scorings.

    Raises:
        PolyprobeError: a decoder's option with another scoring, where it has no effect.
    """
    names = [field.name for field in fields(DecodingOptions)]
    chosen = {name: options.pop(name) for name in names if name in options}
    scoring = options.get("scoring", "bmlama")
    if scoring == SCORING:
        return DecodingOptions(**chosen)
    if chosen:
        raise PolyprobeError(
            f"--{next(iter(chosen)).replace('_', '-')} is for --scoring {SCORING}, "
            f"not {scoring}; leave it out"
        )
    return None
