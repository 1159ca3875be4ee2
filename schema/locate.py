"""Find a dataset by its name: a folder, an embedded or installed dataset, or one of the Hub."""

import os
import re
from collections.abc import Iterator
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from huggingface_hub import try_to_load_from_cache
from huggingface_hub.constants import HF_HOME

from polyprobe.system.errors import PolyprobeError, guess

FORMATS = {".parquet": "parquet", ".jsonl": "json", ".csv": "csv"}  # names in `datasets`
REMEDY = (
    "build it (polyprobe build), install it (polyprobe install), or give a folder or OWNER/NAME"
)
PLACES = ("*", "*/*", "data/**/*")  # of the files of a dataset in its folder
_RELATION = re.compile(r"^\| \[(\w+)\]\(\S*/Property:\1\) \| ([^|\n]*?) \|", re.MULTILINE)


def list_dataset_folders() -> tuple[Path, Path]:
    """Return the folders of named datasets: the user's and the embedded ones."""
    return Path("datasets"), Path(str(files("polyprobe"))) / "datasets"


def is_dataset(folder: Path) -> bool:
    """Return whether a folder has files of FORMATS where `datasets` expects them."""
    return bool(find_formats(folder))


def find_formats(folder: Path) -> set[str]:
    """Return the endings of the files of rows in a folder."""
    endings = {path.suffix for place in PLACES for path in folder.glob(place)}
    return endings & FORMATS.keys()


def list_datasets() -> list[str]:
    """Return all names, sorted, each once."""
    here = (path for folder in list_dataset_folders() for path in folder.glob("[!.]*"))
    return sorted({*(path.name for path in here if is_dataset(path)), *list_installed()})


def suggest(name: str) -> str:
    """Return a hint for an unknown name: the nearest name, and all known ones."""
    names = list_datasets()
    return f"{guess(name, names)} available: {', '.join(names)}".lstrip()


def check_dataset_name(dataset: str) -> None:
    """Refuse a name without an owner that is neither a folder, nor embedded, nor installed.

    The Hub is not asked: it has no dataset of polyprobe without an owner.
    """
    place = locate(dataset)
    if "/" in place or os.path.isdir(place) or place in list_installed():
        return
    if Path(dataset).is_file():
        raise PolyprobeError(
            f"{dataset} is a file; give the folder of a dataset, or make one of a table of facts: "
            f"polyprobe build own {dataset} --templates TEMPLATES.toml"
        )
    raise PolyprobeError(
        f"no dataset '{dataset}' here, under ./datasets or installed; {suggest(place)}; {REMEDY}"
    )


def list_installed() -> Iterator[str]:
    """Yield the names without an owner in the cache of `datasets`.

    A folder named like a format (`parquet`) is the cache of plain files of that format.
    """
    package = find_spec("datasets")  # its import takes seconds
    home = Path(package.origin).parent if package and package.origin else Path()
    cache = os.environ.get("HF_DATASETS_CACHE", Path(HF_HOME, "datasets"))
    for folder in Path(cache).glob("[!._]*"):
        foreign = "___" in folder.name or (home / "packaged_modules" / folder.name).is_dir()
        if not foreign and any(folder.glob("*/*/*/dataset_info.json")):
            yield folder.name


def locate(dataset: str) -> str:
    """Return the argument of `datasets.load_dataset`: an absolute folder, or the name itself."""
    for folder in (Path(dataset), *(place / dataset for place in list_dataset_folders())):
        if dataset and is_dataset(folder):
            return str(folder.resolve())
    return dataset


def read_relation_names(dataset: str) -> dict[str, str]:
    """Return relation → name by the card of a dataset; empty where it has none.

    The card is in the dataset's folder or, of the Hub, in the cache. Names are in the table
    of relations that `polyprobe build` writes.
    """
    place = locate(dataset)
    card = Path(place) / "README.md" if os.path.isdir(place) else _find_cached_card(place)
    text = card.read_text(encoding="utf-8", errors="replace") if card and card.is_file() else ""
    return {relation: name for relation, name in _RELATION.findall(text) if name}


def _find_cached_card(name: str) -> Path | None:
    try:
        file = try_to_load_from_cache(name, "README.md", repo_type="dataset")
    except ValueError:  # no name of a repository, as a folder that is gone
        return None
    return Path(file) if isinstance(file, str) else None
