"""Prompts and candidates in, scores out."""
