"""Sentence versions of a configuration: translated sentences instead of templates."""
