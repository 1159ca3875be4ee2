"""Evaluate modules: one folder each, self-contained."""
