"""Scores in, results.json out."""

REPEATED_SUBJECTS = ("id", "label", "keep")
TEMPLATES = ("all", "reviewed")
