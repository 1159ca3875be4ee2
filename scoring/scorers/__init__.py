"""Scorers: one file for each model family or protocol."""

from collections.abc import Callable
from functools import partial

from .causal import CAUSAL, CausalScorer
from .masked import (
    MASKED,
    MaskedScorer,
    MparaRelScorer,
    PllScorer,
    ReleasedMparaRelScorer,
    WordPllScorer,
)
from .part import LENGTHS
from .queries import Queries
from .released import CausalReleasedScorer, Seq2SeqReleasedScorer
from .scorer import Family, Scored, Scorer
from .seq2seq import SEQ2SEQ, Seq2SeqScorer

# In this order: a configuration without class names is of the first family with its model type.
FAMILIES: dict[str, Family] = {family.name: family for family in (SEQ2SEQ, MASKED, CAUSAL)}

_OF_FAMILIES: dict[str, dict[str, Callable[..., Scorer]]] = {
    protocol: {f.name: f.scorers[protocol] for f in FAMILIES.values() if protocol in f.scorers}
    for protocol in ("bmlama", "object", "contrastive", "letters")
}
# The values of `--scoring`, and the scorer of each family.
SCORINGS: dict[str, dict[str, Callable[..., Scorer]]] = {
    "bmlama": _OF_FAMILIES["bmlama"],
    "mpararel": {"masked": MparaRelScorer},
    "mpararel-released": {"masked": ReleasedMparaRelScorer},
    **{
        scoring: {
            f: partial(scorer, scoring=scoring) for f, scorer in _OF_FAMILIES["object"].items()
        }
        for scoring in LENGTHS
    },
    "contrastive": _OF_FAMILIES["contrastive"],
    "contrastive-released": {
        **_OF_FAMILIES["contrastive"],
        "causal": CausalReleasedScorer,
        "seq2seq": Seq2SeqReleasedScorer,
    },
    "letters": _OF_FAMILIES["letters"],
    "pll": {"masked": PllScorer},
    "pll-word-l2r": {"masked": WordPllScorer},
    "xfactr": {"masked": MaskedScorer},  # decodes (scoring/decoding.py); nothing is scored
}

__all__ = [
    "CAUSAL",
    "FAMILIES",
    "SCORINGS",
    "CausalScorer",
    "Family",
    "MaskedScorer",
    "Queries",
    "Scored",
    "Scorer",
    "Seq2SeqScorer",
]
