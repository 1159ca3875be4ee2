"""Load the splits of a dataset: from a folder, by name, or from the Hub."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
from datasets import packaged_modules

from polyprobe.system.errors import PolyprobeError, one_line

from .checks import check
from .columns import split_name

FORMATS = {".parquet": "parquet", ".jsonl": "json", ".csv": "csv"}  # names in `datasets`
PLACES = ("*", "*/*", "data/**/*")  # of the files of a dataset in its folder
PARTS = {"train", "test", "validation"}  # names of splits that are not languages
LANGUAGE = re.compile(r"[a-z]{2,3}([-_]\w{2,8})*")


def load_facts(
    dataset: str, config: str | None = None, languages: Sequence[str] | None = None
) -> dict[str, pa.Table]:
    """Return one checked Arrow table for each language, with parallel rows.

    Args:
        dataset: a folder, the name of a folder under ./datasets, the name of an embedded or
            installed dataset, or OWNER/NAME on the Hub; searched in this order. In a folder without
            a card, files are splits if all are named by languages (`en.jsonl`, `fr.jsonl`).
        config: a configuration (default: the dataset's own default).
        languages: split names, in the order of the result (default: all, as in the card).

    Raises:
        PolyprobeError: unknown dataset or language, splits that are not languages or not parallel,
            or an invalid row (see `CHECKS`).
    """
    tables = read_splits(dataset, config, languages)
    check(tables, _name(dataset, config))
    return tables


def read_splits(
    dataset: str, config: str | None = None, languages: Sequence[str] | None = None
) -> dict[str, pa.Table]:
    """Return the tables of `load_facts` without checks."""
    place = locate(dataset)
    name = _name(dataset, config)
    with _plain_errors(name, place):
        # Stream folders: datasets 5.2 caches them by the text of the card alone, and would return
        # old rows after a change of the Parquet files.
        splits = datasets.load_dataset(place, config, streaming=os.path.isdir(place))
        if set(splits) <= PARTS:
            splits = _load_by_name(place, list(splits))
        chosen = _known(languages, list(splits), name)
        return {language: _read(splits[language]) for language in chosen}


def find_default(dataset: str) -> str:
    """Return the name of a dataset's default configuration; offline, that in the cache."""
    place = locate(dataset)
    with _plain_errors(dataset, place):
        return str(datasets.load_dataset_builder(place).config.name)


def _name(dataset: str, config: str | None) -> str:
    return f"{dataset}/{config}" if config else dataset


def _read(split: datasets.Dataset | datasets.IterableDataset) -> pa.Table:
    return pa.concat_tables(split.with_format("arrow").iter(batch_size=100_000)).combine_chunks()


def _load_by_name(place: str, found: list[str]) -> datasets.IterableDatasetDict:
    """Return the splits of a folder without a card from its files, all named by languages.

    PolyprobeError, with the splits that `datasets` found, for other places.
    """
    paths = [path for path in sorted(Path(place).glob("[!.]*")) if path.suffix in FORMATS]
    suffixes = {path.suffix for path in paths}
    if len(suffixes) != 1 or not all(LANGUAGE.fullmatch(path.stem) for path in paths):
        raise PolyprobeError(
            f"{place} has the splits {', '.join(found)} instead of one for each language; list the "
            "files of the languages under configs in its card README.md, or, without a card, name "
            "them en.parquet, fr.parquet, … (also .jsonl)"
        )
    files = {split_name(path.stem): str(path) for path in paths}
    return datasets.load_dataset(FORMATS[suffixes.pop()], data_files=files, streaming=True)


def _known(wanted: Iterable[str] | None, available: list[str], name: str) -> list[str]:
    chosen = list(dict.fromkeys(wanted)) if wanted is not None else available
    if not chosen:
        raise PolyprobeError(
            f"no languages were named; available in {name}: {', '.join(available)}"
        )
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
            if not pq.read_table(file).num_rows:
                return f"{file} has no rows; build the dataset again"
        except (pa.ArrowInvalid, OSError) as error:
            return f"{file} is not readable Parquet ({one_line(error)}); build the dataset again"
    return None


def list_folders() -> tuple[Path, Path]:
    """Return the folders of named datasets: the user's and the embedded ones."""
    return Path("datasets"), Path(str(files("polyprobe"))) / "datasets"


def is_dataset(folder: Path) -> bool:
    """Return whether a folder has files of FORMATS where `datasets` expects them."""
    return any(path.suffix in FORMATS for place in PLACES for path in folder.glob(place))


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
