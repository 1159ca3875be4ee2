"""The Hub's check of the metadata of cards: common errors of datasets, models and Spaces.

The rules are a small part of the Hub's, with its messages where known, since the schema is not
published. Errors stop a commit, warnings do not.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import yaml

from tests.hub.store import Blob

LICENSES = """
afl-3.0 agpl-3.0 apache-2.0 artistic-2.0 bigcode-openrail-m bigscience-bloom-rail-1.0
bigscience-openrail-m bsd bsd-2-clause bsd-3-clause bsd-3-clause-clear bsl-1.0 c-uda cc cc-by-2.0
cc-by-2.5 cc-by-3.0 cc-by-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nc-nd-3.0
cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 cc-by-nd-4.0 cc-by-sa-3.0
cc-by-sa-4.0 cc0-1.0 cdla-permissive-1.0 cdla-permissive-2.0 cdla-sharing-1.0
creativeml-openrail-m deepfloyd-if-license ecl-2.0 epl-1.0 epl-2.0 etalab-2.0 eupl-1.1 eupl-1.2
gemma gfdl gpl gpl-2.0 gpl-3.0 isc lgpl lgpl-2.1 lgpl-3.0 lgpl-lr llama2 llama3 llama3.1 llama3.2
llama3.3 lppl-1.3c mit mpl-2.0 ms-pl ncsa odbl odc-by ofl-1.1 openrail openrail++ osl-3.0 other
pddl postgresql unknown unlicense wtfpl zlib
"""  # huggingface.co/docs/hub/repositories-licenses
SDKS = ("gradio", "docker", "static", "streamlit")
COLOURS = ("red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray")
BLOCK = re.compile(r"\A\s*---[\r\n]+(.*?)[\r\n]+---(?:[\r\n]|\Z)", re.DOTALL)


class Findings(NamedTuple):
    """The findings of the check of a card."""

    errors: list[str]
    warnings: list[str]

    def fields(self) -> dict[str, list[dict[str, str]]]:
        """Return both lists as the Hub's JSON."""
        return {
            "errors": [{"message": each} for each in self.errors],
            "warnings": [{"message": each} for each in self.warnings],
        }

    def text(self) -> str:
        """Return both lists as the Hub's plain text."""
        errors = [f" - Error: {each}" for each in self.errors]
        return "\n".join(errors + [f" - Warning: {each}" for each in self.warnings])


def check_card(text: str, kind: str) -> Findings:
    """Return the errors in the metadata of a README."""
    block = BLOCK.match(text)
    if not block:
        return Findings([], ["empty or missing yaml metadata in repo card"])
    try:
        data = yaml.safe_load(block[1])
    except yaml.YAMLError as error:
        return Findings([f"Invalid YAML: {' '.join(str(error).split())}"], [])
    if not isinstance(data, dict):
        return Findings(["metadata must be an object"], [])
    found = [*check_license(data), *check_configs(data)]
    return Findings(found + (check_space(data) if kind == "space" else []), [])


def check_license(data: Mapping[str, Any]) -> list[str]:
    """Return an error if any licence is not on the Hub's list."""
    named, known = data.get("license") or [], LICENSES.split()
    wrong = {*named} - {*known} if isinstance(named, list) else {named} - {*known}
    return [f'"license" must be one of [{", ".join(known)}]'] if wrong else []


def check_configs(data: Mapping[str, Any]) -> list[str]:
    """Return errors if `configs` is not a list of names with their files."""
    configs = data.get("configs", [])
    if not isinstance(configs, list):
        return ['"configs" must be an array']
    found = []
    for number, config in enumerate(configs):
        if not isinstance(config, dict):
            found.append(f'"configs[{number}]" must be of type object')
        elif not isinstance(config.get("config_name"), str):
            found.append(f'"configs[{number}].config_name" must be a string')
        elif not isinstance(config.get("data_files", ""), str | list):
            found.append(f'"configs[{number}].data_files" must be an array or a string')
    return found


def check_space(data: Mapping[str, Any]) -> list[str]:
    """Return errors if a Space has no SDK or an invalid colour."""
    found = [] if data.get("sdk") in SDKS else [f'"sdk" must be one of [{", ".join(SDKS)}]']
    for key in ("colorFrom", "colorTo"):
        if data.get(key, "red") not in COLOURS:
            found.append(f'"{key}" must be one of [{", ".join(COLOURS)}]')
    if len(str(data.get("short_description", ""))) > 60:
        found.append('"short_description" length must be less than or equal to 60 characters long')
    return found


def read_card(files: Mapping[str, Blob]) -> dict[str, Any]:
    """Return the metadata of a repository's README, empty if it has none that can be read."""
    if "README.md" not in files:
        return {}
    block = BLOCK.match(files["README.md"].file.read_text(encoding="utf-8"))
    try:
        data = yaml.safe_load(block[1]) if block else None
    except yaml.YAMLError:  # in a served folder with an unchecked card
        return {}
    return data if isinstance(data, dict) else {}
