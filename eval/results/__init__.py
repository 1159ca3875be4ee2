"""Scores in, results.json out."""

CLUSTERS = ("auto", "none", "relation", "subject")
