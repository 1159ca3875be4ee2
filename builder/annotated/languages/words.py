"""Words of a language that its rules treat apart: `LANGUAGE.toml` in this folder."""

import tomllib
from importlib.resources import files
from typing import Any


def read_words(language: str) -> dict[str, Any]:
    """Read the tables of a language."""
    text = files(__package__).joinpath(f"{language}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
