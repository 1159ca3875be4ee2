"""Correlates of consistency between languages: shared subwords, kinship, accuracy, any table."""

from pathlib import Path

from polyprobe.schema.languages import TRAITS
from polyprobe.system.errors import check_option, check_path

SUBWORDS, ACCURACY = "subwords", "accuracy"
ACCURACIES = ("accuracy_min", "accuracy_product", "accuracy_difference")
DISTANCES = ("genetic", "geographic", "phonological", "syntactic", "inventory")  # of URIEL
NAMES = (SUBWORDS, *DISTANCES, *TRAITS, ACCURACY, *ACCURACIES)
FILLED, PROMPTS = "filled", "prompts"  # corpora from the run's own rows


def check_with(item: str, option: str = "--with") -> None:
    """Refuse an item that is neither a name nor a file or folder."""
    if item not in NAMES and not Path(item).exists():
        check_path(option, item)
        check_option(option, item, [*NAMES, "a TSV file", "a run folder"])
