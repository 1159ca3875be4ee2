"""Checks before a push: the card, the files, the licence."""

import re
from collections.abc import Mapping
from typing import Any

from huggingface_hub import DatasetCard

from polyprobe.system.errors import PolyprobeError, one_line

from . import dataset_checks, space_checks
from .source import Source

SHOWN = 5
UNKNOWN = "the owners of the data have not permitted its publication"
NO_DERIVATIVES = "it forbids the publication of adapted material, and this data is adapted"
UNNAMED = "license_name and license_link are missing, which a licence of another kind needs"


def check_source(source: Source) -> dict[str, Any]:
    """Return the YAML of the card of a folder that passes all checks.

    Raises:
        PolyprobeError: the first problems, each with its file and row.
    """
    card = read_card(source)
    checks = dataset_checks if source.kind == "dataset" else space_checks
    subject_class = dataset_checks.Dataset if source.kind == "dataset" else space_checks.Metric
    subject = subject_class(source.place, card, list(source.files))
    for stage in checks.STAGES:
        found = [line for check in stage.values() for line in check(subject)]
        if found:
            rest = f" (and {len(found) - SHOWN} more)" if len(found) > SHOWN else ""
            raise PolyprobeError(
                f"{source.folder} cannot be pushed: {'; '.join(found[:SHOWN])}{rest}"
            )
    return card


def read_card(source: Source) -> dict[str, Any]:
    """Return the YAML at the head of README.md."""
    if "README.md" not in source.files:
        raise PolyprobeError(f"{source.folder} has no README.md, the card that the Hub shows")
    path = source.files["README.md"].path
    try:
        return DatasetCard.load(path, ignore_metadata_errors=False).data.to_dict()
    except Exception as error:  # invalid YAML, or valid YAML of an unexpected shape
        raise PolyprobeError(f"{path}: its YAML cannot be read: {one_line(error)}") from error


def find_objections(card: Mapping[str, Any]) -> dict[str, str]:
    """Return {licence: reason} of a card's licences that do not permit publication.

    The ids are those of the Hub. A card without a licence has the licence `unknown`, as on the Hub.

    >>> find_objections({"license": ["apache-2.0", "unknown"]})
    {'unknown': 'the owners of the data have not permitted its publication'}
    """
    given = card.get("license") or "unknown"
    names = map(str, given if isinstance(given, list) else [given])
    objections = {name: object_to(name, card) for name in names}
    return {name: objection for name, objection in objections.items() if objection}


def object_to(licence: str, card: Mapping[str, Any]) -> str:
    """Return why a licence does not permit publication, empty if it does."""
    name = str(card.get("license_name") or "") if licence == "other" else licence
    if licence == "unknown":
        return UNKNOWN
    if not name or (licence == "other" and not card.get("license_link")):
        return UNNAMED
    return NO_DERIVATIVES if "nd" in re.split(r"[^a-z0-9]+", name.lower()) else ""
