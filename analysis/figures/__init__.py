"""Scores in, results.json out."""

CLUSTERS = ("auto", "none", "relation", "subject")
REPEATED_SUBJECTS = ("id", "label", "keep")
TEMPLATES = ("all", "reviewed")
