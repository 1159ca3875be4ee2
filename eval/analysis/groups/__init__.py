"""Figures of a run by groups of facts or languages, and whether the groups differ."""

from pathlib import Path

from polyprobe.system.errors import PolyprobeError, guess

OF_LANGUAGES = ("script", "family", "branch")  # schema.languages.TRAITS
OF_FACTS = ("relation", "subject", "object", "continent", "gender")
UNITS = ("auto", "fact", "subject", "language")


def check_by(by: str) -> None:
    """Refuse what is neither a name of groups nor a file."""
    names = (*OF_LANGUAGES, *OF_FACTS)
    if by not in names and not Path(by).is_file():
        raise PolyprobeError(
            f"unknown --by '{by}';{guess(by, names)} known: {', '.join(names)}, or a TSV file of "
            "ids and groups"
        )
