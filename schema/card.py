"""The configurations and splits that a dataset's card lists, compared with the folder's files."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from huggingface_hub import DatasetCard

from polyprobe.system.errors import PolyprobeError, one_line

_MADE_BY = re.compile("made by `(polyprobe build [^`]+)`")


class CardSplit(NamedTuple):
    """A split in the card."""

    config: str
    name: str
    path: str


def read_card(path: Path) -> dict[str, Any]:
    """Return the YAML at the head of README.md."""
    try:
        return DatasetCard.load(path, ignore_metadata_errors=False).data.to_dict()
    except Exception as error:  # invalid YAML, or valid YAML of an unexpected shape
        raise PolyprobeError(f"{path}: its YAML cannot be read: {one_line(error)}") from error


def list_splits(card: Mapping[str, Any]) -> list[CardSplit]:
    """Return the splits of all configurations in the order of the card."""
    return [
        CardSplit(str(config.get("config_name")), str(part.get("split")), str(path))
        for config in dictionaries(card.get("configs"))
        for part in dictionaries(config.get("data_files"))
        for path in (part["path"] if isinstance(part.get("path"), list) else [part.get("path")])
    ]


def dictionaries(value: Any) -> list[Mapping[str, Any]]:
    """Return the dictionaries in a list of the card; other values are ignored."""
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def check_card(folder: Path) -> None:
    """Refuse a folder whose card lists other files than it has; a folder without a card passes."""
    place = folder / "README.md"
    if not place.is_file():
        return
    card = read_card(place)
    splits = list_splits(card)
    if dictionaries(card.get("configs")) and not splits:
        return  # written by hand, with patterns
    missing = [split for split in splits if not any(folder.glob(split.path))]
    problems = [f"{x.config}/{x.name} is {x.path}: no such file" for x in missing]
    files = folder.glob("data/[!.]*/[!.]*.parquet")
    rows = sorted(path.relative_to(folder).as_posix() for path in files)
    problems += [*find_swapped(splits), *find_unlisted(splits, rows)]
    if problems:
        made = _MADE_BY.search(place.read_text(encoding="utf-8"))
        command = f" ({made[1]})" if made else ""
        raise PolyprobeError(
            f"{place}: {problems[0]}; build it again{command}, or correct the card"
        )


def find_unlisted(splits: list[CardSplit], files: list[str]) -> Iterator[str]:
    """Find Parquet files of rows that are in no configuration of the card."""
    listed = {split.path for split in splits}
    for file in files:
        if file not in listed and not any(PurePosixPath(file).match(path) for path in listed):
            yield f"{file} is in no configuration"


def find_swapped(splits: list[CardSplit]) -> Iterator[str]:
    """Find splits whose file is named as another split or lies in another one's folder."""
    names = {(split.config, split.name) for split in splits}
    configs = {split.config for split in splits}
    for config, name, path in splits:
        stem, parent = PurePosixPath(path).stem, PurePosixPath(path).parent.name
        if (stem != name and (config, stem) in names) or (parent != config and parent in configs):
            yield f"{config}/{name} is {path}, which is the file of another split"
