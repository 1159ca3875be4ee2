"""Figures of a run by group of facts or languages, and tests of their differences."""

from dataclasses import dataclass
from pathlib import Path

from polyprobe.analysis.options import BootstrapOptions
from polyprobe.schema.languages import TRAITS
from polyprobe.system.messages import check_option, check_path
from polyprobe.system.options import option

OF_LANGUAGES = TRAITS
OF_FACTS = ("relation", "subject", "object", "continent", "gender")
UNITS = ("auto", "fact", "subject", "language")


def check_by(by: str) -> None:
    """Refuse a value of --by that is neither a known name nor a file."""
    names = (*OF_LANGUAGES, *OF_FACTS)
    if by not in names and not Path(by).is_file():
        check_path("--by", by)
        check_option("--by", by, [*names, "a TSV file of ids and groups"])


@dataclass(frozen=True)
class GroupOptions(BootstrapOptions):
    """How the groups of a run are made and tested."""

    gender: Path | None = option(
        None, "TSV file of subject ids and female, male or none (for --by gender)."
    )
    unit: str = option(
        "auto",
        "Unit whose rows keep one label in the permutation: language, subject or fact (auto: the "
        "largest unit that never spans two groups).",
        choices=UNITS,
    )
    each_language: bool = option(False, "Test groups of facts separately in each language.")


DEFAULTS = GroupOptions()
