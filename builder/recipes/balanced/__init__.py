"""Balanced datasets: the same facts and candidates in every language."""

WORDINGS = ("template", "sentence")
DRAWS = ("frequency", "uniform")
AGREEMENTS = ("template", "relation")
