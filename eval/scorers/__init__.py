"""How a model of one family scores candidates: one file a family, named here once."""

from .causal import CausalScorer
from .masked import MaskedScorer
from .scorer import Scored, Scorer
from .seq2seq import Seq2SeqScorer

FAMILIES: dict[str, type[Scorer]] = {
    "causal": CausalScorer,
    "masked": MaskedScorer,
    "seq2seq": Seq2SeqScorer,
}

__all__ = ["FAMILIES", "CausalScorer", "MaskedScorer", "Scored", "Scorer", "Seq2SeqScorer"]
