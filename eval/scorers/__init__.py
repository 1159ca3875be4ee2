"""How a model of one family scores candidates: one file a family, named here once."""

from .causal import CausalScorer
from .masked import MaskedScorer
from .scorer import Scored, Scorer
from .seq2seq import Seq2SeqScorer

# In this order: a configuration that names no class is of the first family that knows its type.
FAMILIES: dict[str, type[Scorer]] = {
    "seq2seq": Seq2SeqScorer,
    "masked": MaskedScorer,
    "causal": CausalScorer,
}

__all__ = ["FAMILIES", "CausalScorer", "MaskedScorer", "Scored", "Scorer", "Seq2SeqScorer"]
