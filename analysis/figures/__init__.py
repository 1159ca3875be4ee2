"""Scores in, results.json out."""
