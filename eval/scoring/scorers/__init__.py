"""How a model of one family scores candidates: one file a family or protocol, named here once."""

from collections.abc import Callable
from functools import partial

from .causal import CausalScorer
from .contrastive import CausalContrastiveScorer, MaskedContrastiveScorer, Seq2SeqContrastiveScorer
from .masked import MaskedScorer
from .mpararel import MparaRelScorer, ReleasedMparaRelScorer
from .object import CausalObjectScorer, MaskedObjectScorer, Seq2SeqObjectScorer
from .pll import PllScorer, WordPllScorer
from .scorer import Scored, Scorer
from .seq2seq import Seq2SeqScorer

# In this order: a configuration that names no class is of the first family that knows its type.
FAMILIES: dict[str, type[Scorer]] = {
    "seq2seq": Seq2SeqScorer,
    "masked": MaskedScorer,
    "causal": CausalScorer,
}


def _object(scoring: str) -> dict[str, Callable[..., Scorer]]:
    return {
        "seq2seq": partial(Seq2SeqObjectScorer, scoring=scoring),
        "masked": partial(MaskedObjectScorer, scoring=scoring),
        "causal": partial(CausalObjectScorer, scoring=scoring),
    }


# What `--scoring` names, and the families that each protocol is for.
SCORINGS: dict[str, dict[str, Callable[..., Scorer]]] = {
    "bmlama": {**FAMILIES},
    "mpararel": {"masked": MparaRelScorer},
    "mpararel-released": {"masked": ReleasedMparaRelScorer},
    "object": _object("object"),
    "object-tokens": _object("object-tokens"),
    "object-characters": _object("object-characters"),
    "object-bytes": _object("object-bytes"),
    "contrastive": {
        "seq2seq": Seq2SeqContrastiveScorer,
        "masked": MaskedContrastiveScorer,
        "causal": CausalContrastiveScorer,
    },
    "pll": {"masked": PllScorer},
    "pll-word-l2r": {"masked": WordPllScorer},
    "xfactr": {"masked": MaskedScorer},  # decodes (eval/decoding); nothing is scored
}

__all__ = [
    "FAMILIES",
    "SCORINGS",
    "CausalScorer",
    "MaskedScorer",
    "Scored",
    "Scorer",
    "Seq2SeqScorer",
]
