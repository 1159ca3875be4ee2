"""Load the splits of a dataset: from a folder, by name, or from the Hub."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
from datasets import packaged_modules
from huggingface_hub import try_to_load_from_cache
from pyarrow.dataset import ParquetFragmentScanOptions

from polyprobe.system.errors import PolyprobeError, one_line

from .card import check_card
from .checks import check
from .columns import UNREADABLE
from .names import split_list

VERIFY = ParquetFragmentScanOptions(page_checksum_verification=True)
_RELATION = re.compile(r"^\| \[(\w+)\]\(\S*/Property:\1\) \| ([^|\n]*?) \|", re.MULTILINE)
IN_MEMORY = "in memory"  # of a run: the name of a dataset that was not loaded by name
Splits = Mapping[str, datasets.Dataset]
FILES = ("*.parquet", "*/*.parquet", "data/**/*.parquet")


def load_facts(
    dataset: str | Splits,
    config: str | None = None,
    languages: str | Sequence[str] | None = None,
) -> dict[str, pa.Table]:
    """Return one checked Arrow table for each language, with parallel rows.

    Args:
        dataset: a folder, the name of a folder under ./datasets, the name of an embedded or
            installed dataset, or OWNER/NAME on the Hub; searched in this order. Or a `DatasetDict`
            or dictionary with one `Dataset` for each language.
        config: a configuration (default: the dataset's own default).
        languages: split names, a list or one text with commas, in the order of the result (default:
            all, as in the card).

    Raises:
        PolyprobeError: unknown dataset or language, splits that are not parallel, or an invalid row
            (see `CHECKS`).
    """
    tables = read_splits(dataset, config, languages)
    check(tables, _name(dataset, config))
    return tables


def read_splits(
    dataset: str | Splits,
    config: str | None = None,
    languages: str | Sequence[str] | None = None,
) -> dict[str, pa.Table]:
    """Return the tables of `load_facts` without checks."""
    if not isinstance(dataset, str | os.PathLike):
        splits = _check_splits(dataset, config)
        chosen = _known(languages, list(splits), _name(dataset, config))
        return {language: _read(splits[language]) for language in chosen}
    place = locate(os.fspath(dataset))
    name = _name(dataset, config)
    with _plain_errors(name, place):
        options: dict[str, Any] = {}
        if os.path.isdir(place):
            check_card(Path(place))
            if is_dataset(Path(place)):
                options["fragment_scan_options"] = VERIFY
            # Stream folders: datasets 5.2 caches them by the text of the card alone, and would
            # return old rows after a change of the Parquet files.
            options["streaming"] = True
        splits = datasets.load_dataset(place, config, **options)
        chosen = _known(languages, list(splits), name)
        return {language: _read(splits[language]) for language in chosen}


def _check_splits(dataset: Any, config: str | None) -> Splits:
    expected = "a name, a folder, or a DatasetDict or dictionary with one Dataset for each language"
    if not isinstance(dataset, Mapping):
        raise PolyprobeError(f"the dataset is a {type(dataset).__name__}; expected {expected}")
    for language, split in dataset.items():
        if not isinstance(split, datasets.Dataset):
            kind = type(split).__name__
            raise PolyprobeError(f"split '{language}' is a {kind}; expected {expected}")
    if config is not None:
        raise PolyprobeError(f"config {config!r} is for a dataset's name, not for {expected[26:]}")
    return dataset


def find_default(dataset: str | Splits) -> str | None:
    """Return the name of a dataset's default configuration; offline, that in the cache."""
    if not isinstance(dataset, str | os.PathLike):
        return None
    place = locate(os.fspath(dataset))
    with _plain_errors(str(dataset), place):
        check_card(Path(place))
        return str(datasets.load_dataset_builder(place).config.name)


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
        found = try_to_load_from_cache(name, "README.md", repo_type="dataset")
    except ValueError:  # no name of a repository, as a folder that is gone
        return None
    return Path(found) if isinstance(found, str) else None


def _name(dataset: str | Splits, config: str | None) -> str:
    if not isinstance(dataset, str | os.PathLike):
        return "the dataset"
    return f"{dataset}/{config}" if config else str(dataset)


def _read(split: datasets.Dataset | datasets.IterableDataset) -> pa.Table:
    return pa.concat_tables(split.with_format("arrow").iter(batch_size=100_000)).combine_chunks()


def _known(wanted: str | Iterable[str] | None, available: list[str], name: str) -> list[str]:
    wanted = split_list(wanted) if isinstance(wanted, str) else wanted
    chosen = list(dict.fromkeys(wanted)) if wanted is not None else available
    if not chosen:
        raise PolyprobeError(
            f"no languages were named; available in {name}: {', '.join(available)}"
        )
    chosen = [x if x in available else x.replace("-", "_") for x in chosen]
    for language in chosen:
        if language not in available:
            raise PolyprobeError(
                f"unknown language '{language}' in {name}; available: {', '.join(available)}"
            )
    return chosen


@contextmanager
def _plain_errors(name: str, place: str) -> Iterator[None]:
    """Turn exceptions of `datasets` into one line, and silence its bars and logs.

    Invalid cards and files raise many types, so all exceptions are caught.
    """
    level = datasets.logging.get_verbosity()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)
    datasets.disable_progress_bars()
    try:
        yield
    except PolyprobeError:
        raise
    except (datasets.exceptions.DatasetNotFoundError, OSError) as error:
        known = "" if "/" in place else f"{suggest(place)}; "
        raise PolyprobeError(
            f"no dataset '{name}' here, under ./datasets, installed or on the Hub; {known}build it "
            "(polyprobe build), install it (polyprobe install), or give a folder or OWNER/NAME "
            f"({one_line(error)})"
        ) from error
    except Exception as error:
        if "BuilderConfig" in str(error) and "not found" in str(error):
            available = str(error).rpartition("Available: ")[2]
            raise PolyprobeError(
                f"unknown configuration in '{name}'; available: {available}"
            ) from error
        raise PolyprobeError(_bad_file(place) or f"{name}: {one_line(error)}") from error
    finally:
        datasets.enable_progress_bars()
        datasets.logging.set_verbosity(level)


def _bad_file(place: str) -> str | None:
    for file in sorted(Path(place).glob("**/*.parquet")) if os.path.isdir(place) else ():
        try:
            if not pq.read_table(file, page_checksum_verification=True).num_rows:
                return f"{file} has no rows; build the dataset again"
        except UNREADABLE as error:
            return f"{file} is not readable Parquet ({one_line(error)}); build the dataset again"
    return None


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
