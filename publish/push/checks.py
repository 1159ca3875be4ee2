"""A folder is looked at before it leaves: whatever is found, nothing is uploaded."""

from typing import Any

from huggingface_hub import DatasetCard

from polyprobe.system.errors import PolyprobeError

from . import dataset_checks, space_checks
from .source import Source

SHOWN = 5


def check_source(source: Source) -> dict[str, Any]:
    """Return the card's YAML of a folder in which nothing is wrong.

    Raises:
        PolyprobeError: what is wrong, each with its file and row; a few of many.
    """
    card = read_card(source)
    checks = dataset_checks if source.kind == "dataset" else space_checks
    looked_at = dataset_checks.Dataset if source.kind == "dataset" else space_checks.Metric
    subject = looked_at(source.place, card, list(source.files))
    for stage in checks.STAGES:
        found = [line for check in stage.values() for line in check(subject)]
        if found:
            rest = f" (and {len(found) - SHOWN} more)" if len(found) > SHOWN else ""
            raise PolyprobeError(
                f"{source.folder} is not fit to be pushed: {'; '.join(found[:SHOWN])}{rest}"
            )
    return card


def read_card(source: Source) -> dict[str, Any]:
    """Return the YAML at the head of README.md."""
    if "README.md" not in source.files:
        raise PolyprobeError(f"{source.folder} has no README.md, the card that the Hub shows")
    try:
        card = DatasetCard.load(source.files["README.md"].path, ignore_metadata_errors=False)
        return card.data.to_dict()
    except Exception as error:  # YAML's own errors, and those of what it holds
        reason = " ".join(str(error).split())
        path = source.files["README.md"].path
        raise PolyprobeError(f"{path}: its YAML cannot be read: {reason}") from error
