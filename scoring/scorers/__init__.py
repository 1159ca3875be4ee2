"""Scorers: one file for each model family or protocol."""

from collections.abc import Callable

from polyprobe.scoring.options import SCORING_NAMES

from .causal import CAUSAL
from .masked import MASKED, MaskedScorer
from .scorer import Family, Scorer
from .seq2seq import SEQ2SEQ

# In this order: a configuration without class names is of the first family with its model type.
FAMILIES: dict[str, Family] = {family.name: family for family in (SEQ2SEQ, MASKED, CAUSAL)}

# The values of `--scoring`, and the scorer of each family.
SCORINGS: dict[str, dict[str, Callable[..., Scorer]]] = {
    scoring: {f.name: f.scorers[scoring] for f in FAMILIES.values() if scoring in f.scorers}
    for scoring in SCORING_NAMES
}

__all__ = ["CAUSAL", "FAMILIES", "SCORINGS", "Family", "MaskedScorer", "Scorer"]
