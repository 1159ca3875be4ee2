"""Find a dataset by name: under ./datasets, embedded, installed, or on the Hub."""

from collections.abc import Iterator
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path

import datasets
from datasets import packaged_modules

FILES = ("*.parquet", "*/*.parquet", "data/**/*.parquet")


def list_folders() -> tuple[Path, Path]:
    """Return the folders of named datasets: the user's and the embedded ones."""
    return Path("datasets"), Path(str(files("polyprobe"))) / "datasets"


def is_dataset(folder: Path) -> bool:
    """Return whether a folder has Parquet files where `datasets` expects them."""
    return any(found for pattern in FILES for found in folder.glob(pattern))


def list_datasets() -> list[str]:
    """Return all names, sorted, each once."""
    here = (path for folder in list_folders() for path in folder.glob("[!.]*"))
    return sorted({*(path.name for path in here if is_dataset(path)), *_list_installed()})


def suggest(name: str) -> str:
    """Return a hint for an unknown name: the nearest name, and all known ones."""
    known = list_datasets()
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    guess = f"did you mean {near[0]!r}? " if near else ""
    return f"{guess}available: {', '.join(known)}"


def _list_installed() -> Iterator[str]:
    """Yield the names without an owner in the cache of `datasets`.

    A folder named like a format (`parquet`) is the cache of plain files of that format.
    """
    for folder in Path(datasets.config.HF_DATASETS_CACHE).glob("[!._]*"):
        other = "___" in folder.name or Path(packaged_modules.__path__[0], folder.name).is_dir()
        if not other and any(folder.glob("*/*/*/dataset_info.json")):
            yield folder.name


def locate(dataset: str) -> str:
    """Return the argument of `datasets.load_dataset`: an absolute folder, or the name itself."""
    for folder in (Path(dataset), *(place / dataset for place in list_folders())):
        if dataset and is_dataset(folder):
            return str(folder.resolve())
    return dataset
