"""Figures of all languages at once: their intervals, tests between models, what chance gives."""

# The figures of a run that every table, page and benchmark shows, in this order.
HEADLINES = ("accuracy", "rankc", "rankc_adjusted", "coverlap")
