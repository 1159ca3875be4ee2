"""Which licences let data be published, by the ids that the Hub's cards use."""

import re
from collections.abc import Mapping
from typing import Any

SILENT = "nobody who made the data has said that it may be passed on"
ADAPTED = "it forbids passing on adapted material, and this data is adapted"
UNNAMED = "a licence of another kind needs license_name and license_link beside it"


def read_licences(card: Mapping[str, Any]) -> list[str]:
    """Return the licences that a card names; none is `unknown`, for so the Hub reads it."""
    stated = card.get("license") or "unknown"
    return [str(name) for name in (stated if isinstance(stated, list) else [stated])]


def find_objections(card: Mapping[str, Any]) -> dict[str, str]:
    """Return {licence: what it says against publishing} of a card's licences; empty: go ahead.

    >>> find_objections({"license": ["apache-2.0", "unknown"]})
    {'unknown': 'nobody who made the data has said that it may be passed on'}
    """
    objections = {name: object_to(name, card) for name in read_licences(card)}
    return {name: objection for name, objection in objections.items() if objection}


def object_to(licence: str, card: Mapping[str, Any]) -> str:
    """Return what a licence says against publishing, nothing where it does not."""
    name = str(card.get("license_name") or "") if licence == "other" else licence
    if licence == "unknown":
        return SILENT
    if not name or (licence == "other" and not card.get("license_link")):
        return UNNAMED
    return ADAPTED if "nd" in re.split(r"[^a-z0-9]+", name.lower()) else ""
