"""Balanced datasets: the same facts and candidates in every language."""
