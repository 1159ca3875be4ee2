"""Figures of all languages at once: their intervals, tests between models, what chance gives."""
