"""Metadata of a model card, read and written by huggingface_hub."""

import shutil
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import metadata_load, metadata_save

from polyprobe.system.errors import PolyprobeError, one_line
from polyprobe.system.files import write_whole


def read_metadata(card: Path) -> dict[str, Any]:
    """Return a card's metadata, {} without any.

    Raises:
        PolyprobeError: no such file, not UTF-8, or metadata that are not a YAML mapping.
    """
    try:
        metadata = metadata_load(card)
        unclosed = metadata is None and card.read_text("utf-8-sig").lstrip().startswith("---\n")
    except FileNotFoundError:
        raise PolyprobeError(
            f"no model card {card}; give an existing one, or leave --card out for a separate file"
        ) from None
    except yaml.YAMLError as error:
        raise PolyprobeError(f"{card}: invalid YAML in its metadata: {one_line(error)}") from error
    except (OSError, ValueError) as error:
        raise PolyprobeError(f"cannot read {card}: {one_line(error)}") from error
    if unclosed:
        raise PolyprobeError(f"{card}: its metadata have no closing `---`; add that line")
    return metadata or {}


def save_metadata(card: Path, metadata: dict[str, Any]) -> Path:
    """Replace a card's metadata, whole or not at all, and return its path.

    The text below and the line ends stay. YAML comments and quotes in the metadata are lost.
    """

    def save(part: Path) -> None:
        shutil.copyfile(card, part)
        metadata_save(part, metadata)

    write_whole(card, save, "the card is unchanged")
    return card
