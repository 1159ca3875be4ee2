"""Figures of all languages at once: intervals, tests between models, chance levels."""

# The figures of a run that every table, page and benchmark shows, in this order.
HEADLINES = ("accuracy", "accuracy_gain", "rankc_subject", "rankc", "rankc_adjusted", "coverlap")

# Tests of a difference between two models, and corrections of p-values over languages or pairs.
TESTS = ("randomisation", "bootstrap")
CORRECTIONS = ("holm", "bh", "none")
