"""Fluent-mLAMA."""
