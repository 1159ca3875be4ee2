"""What goes with the consistency of two languages: shared subwords, kinship, accuracy, any table."""

from polyprobe.schema.languages import TRAITS

SUBWORDS, ACCURACY = "subwords", "accuracy"
ACCURACIES = ("accuracy_min", "accuracy_product", "accuracy_difference")
DISTANCES = ("genetic", "geographic", "phonological", "syntactic", "inventory")  # of URIEL
NAMES = (SUBWORDS, *DISTANCES, *TRAITS, ACCURACY, *ACCURACIES)
FILLED, PROMPTS = "filled", "prompts"  # corpora from the run's own rows
