"""Figures of all languages at once: intervals, tests between models, chance levels."""
