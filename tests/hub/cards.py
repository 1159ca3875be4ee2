"""The metadata of cards: what the Hub reads, and its refusal of other YAML and licences."""

import re
from collections.abc import Mapping
from typing import Any

import yaml

from tests.hub.store import Blob

LICENSES = """
apache-2.0 cc cc-by-4.0 cc-by-nc-4.0 cc-by-nc-sa-4.0 cc-by-nd-4.0 cc-by-sa-4.0 cc0-1.0 gpl-3.0 mit
other unknown
"""  # some of huggingface.co/docs/hub/repositories-licenses
BLOCK = re.compile(r"\A\s*---[\r\n]+(.*?)[\r\n]+---(?:[\r\n]|\Z)", re.DOTALL)


def check_card(text: str) -> list[str]:
    """Return the errors in the metadata of a README."""
    block = BLOCK.match(text)
    try:
        values = yaml.safe_load(block[1]) if block else {}
    except yaml.YAMLError as error:
        return [f"Invalid YAML: {' '.join(str(error).split())}"]
    if not isinstance(values, dict):
        return ["metadata must be an object"]
    licenses = values.get("license") or []
    unlisted = {*([licenses] if isinstance(licenses, str) else licenses)} - {*LICENSES.split()}
    return [f'"license" must be one of [{", ".join(LICENSES.split())}]'] if unlisted else []


def read_card(files: Mapping[str, Blob]) -> dict[str, Any]:
    """Return the metadata of a repository's README, empty if it has none that can be read."""
    text = files["README.md"].file.read_text(encoding="utf-8") if "README.md" in files else ""
    block = None if check_card(text) else BLOCK.match(text)
    return yaml.safe_load(block[1]) if block else {}


def list_messages(errors: list[str]) -> dict[str, list[dict[str, str]]]:
    """Return errors as the Hub's JSON."""
    return {"errors": [{"message": each} for each in errors], "warnings": []}
