"""Datasets from a user's own facts and templates."""
