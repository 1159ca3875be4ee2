"""Find a dataset by its name, here or on the Hub, and read the card that lists its splits."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from html import unescape
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from huggingface_hub import try_to_load_from_cache
from huggingface_hub.constants import HF_HOME

from polyprobe.system.messages import PolyprobeError, guess, one_line

FORMATS = {".parquet": "parquet", ".jsonl": "json", ".csv": "csv"}  # names in `datasets`
REMEDY = (
    "build it (polyprobe build), install it (polyprobe install), or give a folder or OWNER/NAME"
)
SENTENCE = "-sentence"  # the suffix of the name of a configuration with sentences
PLACES = ("*", "*/*", "data/**/*")  # of the files of a dataset in its folder
_RELATION = re.compile(r"^\| \[(\w+)\]\(\S*/Property:\1\) \| ((?:\\.|[^|\\\n])*?) \|", re.MULTILINE)
_MADE_BY = re.compile("made by `(polyprobe build [^`]+)`")


def list_dataset_folders() -> tuple[Path, Path]:
    """Return the folders of named datasets: the user's and the embedded ones."""
    return Path("datasets"), Path(str(files("polyprobe"))) / "datasets"


def find_formats(folder: Path) -> set[str]:
    """Return the endings of the files of rows in a folder, where `datasets` expects them."""
    endings = {path.suffix for place in PLACES for path in folder.glob(place)}
    return endings & FORMATS.keys()


def list_datasets() -> list[str]:
    """Return all names, sorted, each once."""
    here = (path for folder in list_dataset_folders() for path in folder.glob("[!.]*"))
    return sorted({*(path.name for path in here if find_formats(path)), *list_installed()})


def check_dataset_name(dataset: str) -> None:
    """Refuse a name without an owner that is neither a folder, nor embedded, nor installed."""
    # The Hub is not asked: it has no dataset of polyprobe without an owner.
    place = locate(dataset)
    if "/" in place or os.path.isdir(place) or place in list_installed():
        return
    if Path(dataset).is_file():
        raise PolyprobeError(
            f"{dataset} is a file; give the folder of a dataset, or make one of a table of facts: "
            f"polyprobe build own {dataset} --templates TEMPLATES.toml"
        )
    names = list_datasets()
    hint = f"{guess(place, names)} available: {', '.join(names)}".lstrip()
    text = f"no dataset '{dataset}' here, under ./datasets or installed; {hint}; {REMEDY}"
    raise PolyprobeError(text)


def list_installed() -> Iterator[str]:
    """Yield the names without an owner in the cache of `datasets`."""
    package = find_spec("datasets")  # its import takes seconds
    home = Path(package.origin).parent if package and package.origin else Path()
    cache = os.environ.get("HF_DATASETS_CACHE", Path(HF_HOME, "datasets"))
    for folder in Path(cache).glob("[!._]*"):
        # A folder named like a format (`parquet`) is the cache of plain files of that format.
        foreign = "___" in folder.name or (home / "packaged_modules" / folder.name).is_dir()
        if not foreign and any(folder.glob("*/*/*/dataset_info.json")):
            yield folder.name


def locate(dataset: str) -> str:
    """Return the argument of `datasets.load_dataset`: an absolute folder, or the name itself."""
    for folder in (Path(dataset), *(place / dataset for place in list_dataset_folders())):
        if dataset and find_formats(folder):
            return str(folder.resolve())
    return dataset


def read_relation_names(dataset: str) -> dict[str, str]:
    """Return relation → name by the table in the card that `polyprobe build` writes."""
    place = locate(dataset)
    card: object = os.path.join(place, "README.md")
    if not os.path.isdir(place):
        with suppress(ValueError):  # no name of a repository, as a folder that is gone
            card = try_to_load_from_cache(place, "README.md", repo_type="dataset")
    if not isinstance(card, str) or not os.path.isfile(card):
        return {}
    text = Path(card).read_text(encoding="utf-8", errors="replace")
    names = {relation: name for relation, name in _RELATION.findall(text) if name}
    return {x: unescape(re.sub(r"\\(.)", r"\1", name)) for x, name in names.items()}


class CardSplit(NamedTuple):
    """A split in the card."""

    config: str
    name: str
    path: str


def read_card(path: Path) -> dict[str, Any]:
    """Return the YAML at the head of README.md."""
    from huggingface_hub import DatasetCard  # with HTTP clients: 0.3 seconds

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
    problems += find_misplaced(splits, rows)
    if problems:
        made = _MADE_BY.search(place.read_text(encoding="utf-8"))
        command = f" ({made[1]})" if made else ""
        text = f"{place}: {problems[0]}; build it again{command}, or correct the card"
        raise PolyprobeError(text)


def find_misplaced(splits: list[CardSplit], files: list[str]) -> Iterator[str]:
    """Find splits with another one's file, and Parquet files of rows in no configuration."""
    names = {(split.config, split.name) for split in splits}
    configs, listed = {split.config for split in splits}, {split.path for split in splits}
    for config, name, path in splits:
        stem, parent = PurePosixPath(path).stem, PurePosixPath(path).parent.name
        if (stem != name and (config, stem) in names) or (parent != config and parent in configs):
            yield f"{config}/{name} is {path}, which is the file of another split"
    for file in files:
        if file not in listed and not any(PurePosixPath(file).match(path) for path in listed):
            yield f"{file} is in no configuration"


def make_absolute(name: str | os.PathLike[str]) -> str:
    """Return the absolute path of a file or folder that exists, else the name itself."""
    return str(Path(name).resolve()) if Path(name).exists() else os.fspath(name)
