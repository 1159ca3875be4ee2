"""Figures of a run by group of facts or languages, and tests of their differences."""

from pathlib import Path

from polyprobe.system.errors import PolyprobeError, check_path, guess

OF_LANGUAGES = ("script", "family", "branch")  # schema.languages.TRAITS
OF_FACTS = ("relation", "subject", "object", "continent", "gender")
UNITS = ("auto", "fact", "subject", "language")


def check_by(by: str) -> None:
    """Refuse a value of --by that is neither a known name nor a file."""
    names = (*OF_LANGUAGES, *OF_FACTS)
    if by not in names and not Path(by).is_file():
        check_path("--by", by)
        raise PolyprobeError(
            f"unknown --by '{by}';{guess(by, names)} known: {', '.join(names)}, or a TSV file of "
            "ids and groups"
        )
