"""Figures of a run by groups of facts or languages, and whether the groups differ."""

OF_LANGUAGES = ("script", "family", "branch")  # schema.languages.TRAITS
OF_FACTS = ("relation", "subject", "object", "continent", "gender")
UNITS = ("auto", "fact", "subject", "language")
