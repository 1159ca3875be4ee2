"""One key of a model card's metadata, replaced without touching another byte of the card."""

import re
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub.utils import yaml_dump

from polyprobe.system.errors import PolyprobeError, one_line
from polyprobe.system.files import write_whole

BLOCK = re.compile(r"\A(\ufeff?\s*---[ \t]*\r?\n)(.*?)(^---[ \t]*\r?$)", re.DOTALL | re.MULTILINE)


def read_metadata(card: Path) -> tuple[str, dict[str, Any]]:
    """Return a card's text, newlines as they are, and its metadata; {} where it has none.

    Raises:
        PolyprobeError: no such file, no UTF-8, or metadata that are no YAML mapping.
    """
    try:
        text = card.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise PolyprobeError(
            f"no model card {card}; give an existing one, or leave --card out for a file of its own"
        ) from None
    except (OSError, ValueError) as error:
        raise PolyprobeError(f"cannot read {card}: {one_line(error)}") from error
    return text, _parse(card, text)


def replace_key(card: Path, text: str, key: str, value: object) -> Path:
    """Write the card with one key of its metadata replaced, or added as the last; return its path.

    Raises:
        PolyprobeError: metadata in which the key cannot be replaced by itself, such as a mapping
            in braces; the card is as it was.
    """
    new = _with_key(text, key, value)
    try:
        done = new is not None and _parse(card, new) == {**_parse(card, text), key: value}
    except PolyprobeError:
        done = False
    if new is None or not done:
        raise PolyprobeError(
            f"{card}: cannot put {key} into metadata written this way; leave --card out and copy "
            "the block by hand"
        )
    write_whole(card, lambda part: part.write_bytes(new.encode()), "the card is as it was")
    return card


def _with_key(text: str, key: str, value: object) -> str | None:
    """Return the card with the key, None where its metadata begin but do not end."""
    newline = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    written = yaml_dump({key: value}, sort_keys=False).replace("\n", newline)
    block = BLOCK.match(text)
    bare = text.removeprefix("\ufeff")
    if block is None:
        begun = bare.lstrip().startswith("---")
        return None if begun else f"---{newline}{written}---{newline}{bare}"
    inside = block[2]
    start, end = _find(inside, key)
    return block[1] + inside[:start] + written + inside[end:] + text[block.start(3) :]


def _find(block: str, key: str) -> tuple[int, int]:
    """Return where a key and its value stand in a block of YAML, its end twice where they do not.

    Comments and empty lines behind the value are not the value's.
    """
    root = yaml.compose(block, Loader=yaml.SafeLoader)
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    for name, value in pairs:
        if name.value == key:
            lines = block[name.start_mark.index : value.end_mark.index].splitlines(keepends=True)
            while lines[-1].lstrip().startswith("#") or not lines[-1].strip():
                lines.pop()
            start, end = name.start_mark.index, name.start_mark.index + len("".join(lines))
            rest = None if lines[-1].endswith("\n") else re.match(r"[ \t]*\r?\n", block[end:])
            return start, end + len(rest[0] if rest else "")
    return len(block), len(block)


def _parse(card: Path, text: str) -> dict[str, Any]:
    block = BLOCK.match(text)
    try:
        found = yaml.safe_load(block[2]) if block else None
    except yaml.YAMLError as error:
        raise PolyprobeError(f"{card}: its metadata are no YAML: {one_line(error)}") from error
    if found is not None and not isinstance(found, dict):
        raise PolyprobeError(f"{card}: its metadata are {type(found).__name__}, expected a mapping")
    return found or {}
