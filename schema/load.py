"""Load the splits of a dataset: from a folder, by name, or from the Hub."""

import os
import re
from ast import literal_eval
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.dataset import ParquetFragmentScanOptions

from polyprobe.system.messages import PolyprobeError, may_be_unknown, one_line, unknown
from polyprobe.system.options import convert_value

from .columns import REMEDY as CORRECTION
from .columns import UNREADABLE, check, split_name
from .languages import refuse_languages, split_list
from .locate import FORMATS, REMEDY, check_card, check_dataset_name, find_formats, locate

IN_MEMORY = "in memory"  # of a run: the name of a dataset that was not loaded by name
Splits = Mapping[str, datasets.Dataset]
PARTS = {"train", "test", "validation"}  # names of splits that are not languages
ONE_SPLIT = f"{CORRECTION}, or name one language (--languages), which needs no other split"
LANGUAGE = re.compile(r"[a-z]{2,3}([-_]\w{2,8})*")


def load_facts(
    dataset: str | Splits,
    config: str | None = None,
    languages: str | Sequence[str] | None = None,
    own_candidates: bool = False,
) -> dict[str, pa.Table]:
    """Return one checked Arrow table for each language, with parallel rows.

    Args:
        dataset: a folder, the name of a folder under ./datasets, the name of an embedded or
            installed dataset, or OWNER/NAME on the Hub; searched in this order. In a folder without
            a card, files are splits if all are named by languages (`en.jsonl`, `fr.jsonl`). Or a
            `DatasetDict` or dictionary with one `Dataset` for each language.
        config: a configuration (default: the dataset's own default).
        languages: split names, a list or one text with commas, in the order of the result (default:
            all, as in the card).
        own_candidates: each language may have other candidates, in another number.

    Raises:
        PolyprobeError: unknown dataset or language, splits that are not languages or not parallel,
            or an invalid row (see `list_faults`).
    """
    tables = read_splits(dataset, config, languages)
    check(tables, _name(dataset, config), own_candidates, ONE_SPLIT)
    return tables


def read_splits(
    dataset: str | Splits, config: str | None = None, languages: str | Sequence[str] | None = None
) -> dict[str, pa.Table]:
    """Return the tables of `load_facts` without checks."""
    config = convert_value("config", config, str | None)
    languages = convert_value("languages", languages, str | Iterable[str] | None)
    if not isinstance(dataset, str | os.PathLike):
        splits = _check_splits(dataset, config)
        names = _known(languages, list(splits), _name(dataset, config))
        return {language: _read(splits[language]) for language in names}
    place = locate(os.fspath(dataset))
    name = _name(dataset, config)
    with _loading(name, place):
        options: dict[str, Any] = {}
        if os.path.isdir(place):
            check_card(Path(place))
            if ".parquet" in find_formats(Path(place)):
                verify = ParquetFragmentScanOptions(page_checksum_verification=True)
                options["fragment_scan_options"] = verify
            # Stream folders: datasets 5.2 caches them by the text of the card alone, and would
            # return old rows after a change of the Parquet files.
            options["streaming"] = True
        splits = datasets.load_dataset(place, config, **options)
        if set(splits) <= PARTS:
            splits = _load_by_name(place, list(splits))
        names = _known(languages, list(splits), name)
        return {language: _read(splits[language]) for language in names}


def _check_splits(dataset: Any, config: str | None) -> Splits:
    expected = "a name, a folder, or a DatasetDict or dictionary with one Dataset for each language"
    if not isinstance(dataset, Mapping):
        raise PolyprobeError(f"the dataset is a {type(dataset).__name__}; expected {expected}")
    for language, split in dataset.items():
        convert_value("the name of a split", language, str)
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
    with _loading(str(dataset), place):
        check_card(Path(place))
        return str(datasets.load_dataset_builder(place).config.name)


def _name(dataset: str | Splits, config: str | None) -> str:
    if not isinstance(dataset, str | os.PathLike):
        return "the dataset"
    return f"{dataset}/{config}" if config else str(dataset)


def _read(split: datasets.Dataset | datasets.IterableDataset) -> pa.Table:
    return pa.concat_tables(split.with_format("arrow").iter(batch_size=100_000)).combine_chunks()


def _load_by_name(place: str, names: list[str]) -> datasets.IterableDatasetDict:
    """Return the splits of a folder without a card from its files, all named by languages."""
    paths = [path for path in sorted(Path(place).glob("[!.]*")) if path.suffix in FORMATS]
    suffixes = {path.suffix for path in paths}
    if len(suffixes) != 1 or not all(LANGUAGE.fullmatch(path.stem) for path in paths):
        raise PolyprobeError(
            f"{place} has the splits {', '.join(names)} instead of one for each language; list the "
            "files of the languages under configs in its card README.md, or, without a card, name "
            "them en.parquet, fr.parquet, … (also .jsonl)"
        )
    files = {split_name(path.stem): str(path) for path in paths}
    return datasets.load_dataset(FORMATS[suffixes.pop()], data_files=files, streaming=True)


def _known(languages: str | Iterable[str] | None, available: list[str], name: str) -> list[str]:
    languages = split_list(languages) if isinstance(languages, str) else languages
    names = list(dict.fromkeys(languages)) if languages is not None else available
    listing = ", ".join(available)
    if not names:
        raise PolyprobeError(f"no languages were named; available in {name}: {listing}")
    folded = {split.casefold(): split for split in available}
    names = [x if x in available else folded.get(split_name(x).casefold(), x) for x in names]
    refuse_languages(names, name, available)
    return list(dict.fromkeys(names))


@contextmanager
def _loading(name: str, place: str) -> Iterator[None]:
    """Turn exceptions of `datasets` into one line, and silence its bars and logs."""
    before = datasets.config.HF_HUB_OFFLINE
    # Streaming would import torch, two seconds, to share its state with workers: there are none.
    torch, datasets.config.TORCH_AVAILABLE = datasets.config.TORCH_AVAILABLE, False
    level = datasets.logging.get_verbosity()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)
    datasets.disable_progress_bars()
    try:
        # The Hub has no dataset without an owner: such a name is in the cache.
        if not ("/" in place or os.path.isdir(place)):
            check_dataset_name(place)
            datasets.config.HF_HUB_OFFLINE = True
        yield
    except PolyprobeError:
        raise
    except (datasets.exceptions.DatasetNotFoundError, OSError) as error:
        if os.path.isdir(place) or not may_be_unknown(error):
            raise PolyprobeError(_bad_file(place) or f"{name}: {one_line(error)}") from error
        missing = isinstance(error, datasets.exceptions.DatasetNotFoundError)
        offline = "" if missing else "; HF_HUB_OFFLINE=1 uses only the cache of the Hub"
        raise PolyprobeError(
            f"no dataset '{name}' here, under ./datasets or on the Hub; {REMEDY}{offline} "
            f"({one_line(error)})"
        ) from error
    except Exception as error:  # invalid cards and files raise many types
        if "BuilderConfig" in str(error) and "not found" in str(error):
            available = literal_eval(str(error).rpartition("Available: ")[2])
            dataset, _, config = name.rpartition("/")
            raise unknown("configuration", config, dataset, available) from error
        problem = _bad_file(place) or f"{name}: {one_line(error)}"
        if isinstance(error, NotImplementedError):  # patterns of a card
            problem += "; correct the files that its card README.md names"
        raise PolyprobeError(problem) from error
    finally:
        datasets.config.TORCH_AVAILABLE, datasets.config.HF_HUB_OFFLINE = torch, before
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
