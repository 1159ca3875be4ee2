"""The metadata of cards: what the Hub reads, and its refusal of metadata that is not YAML."""

import re
from collections.abc import Mapping
from typing import Any

import yaml

from tests.hub.store import Blob

BLOCK = re.compile(r"\A\s*---[\r\n]+(.*?)[\r\n]+---(?:[\r\n]|\Z)", re.DOTALL)


def check_card(text: str) -> list[str]:
    """Return the errors in the metadata of a README."""
    block = BLOCK.match(text)
    try:
        values = yaml.safe_load(block[1]) if block else {}
    except yaml.YAMLError as error:
        return [f"Invalid YAML: {' '.join(str(error).split())}"]
    return [] if isinstance(values, dict) else ["metadata must be an object"]


def read_card(files: Mapping[str, Blob]) -> dict[str, Any]:
    """Return the metadata of a repository's README, empty if it has none that can be read."""
    text = files["README.md"].file.read_text(encoding="utf-8") if "README.md" in files else ""
    block = None if check_card(text) else BLOCK.match(text)
    return yaml.safe_load(block[1]) if block else {}


def list_messages(errors: list[str]) -> dict[str, list[dict[str, str]]]:
    """Return errors as the Hub's JSON."""
    return {"errors": [{"message": each} for each in errors], "warnings": []}
