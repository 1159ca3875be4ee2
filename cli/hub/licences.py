"""Which licences let data be published, by the ids that the Hub's cards use."""

from collections.abc import Mapping
from typing import Any

SILENT = "nobody who made the data has said that it may be passed on"
ADAPTED = "it forbids passing on adapted material, and this data is adapted"
# What a licence's id says against publishing.
FORBIDDING = {
    "unknown": SILENT,
    "cc-by-nd-4.0": ADAPTED,
    "cc-by-nc-nd-3.0": ADAPTED,
    "cc-by-nc-nd-4.0": ADAPTED,
}
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
    found = {name: FORBIDDING[name] for name in read_licences(card) if name in FORBIDDING}
    if "other" in read_licences(card) and not (
        card.get("license_name") and card.get("license_link")
    ):
        found["other"] = UNNAMED
    return found
