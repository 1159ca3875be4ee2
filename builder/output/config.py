"""The description of a configuration on disk, read from its Parquet files."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from polyprobe.builder.audit.baseline import Baseline, find_baselines
from polyprobe.builder.audit.split import find_ids, read_split
from polyprobe.metrics.joint import HEADLINES
from polyprobe.schema.columns import UNREADABLE, find_different, split_name
from polyprobe.system.files import hash_files
from polyprobe.system.messages import PolyprobeError

NOTES = "polyprobe"  # key of the notes in the metadata of a Parquet file
UNRANKED = ("accuracy", "coverlap")  # headline figures that compare no rankings


class SplitSize(NamedTuple):
    """One language of a configuration; bytes in memory are Arrow's, as `datasets` counts them."""

    name: str
    path: str
    rows: int
    bytes_on_disk: int
    bytes_in_memory: int


class Config(NamedTuple):
    """A configuration on disk: its splits, and counts of its queries."""

    name: str
    splits: list[SplitSize]
    schema: pa.Schema
    # Queries by relation, by number of candidates, by code in at least one language, and by flag.
    # All but `repairs` are the same in every language and read from the first.
    relations: Counter[str]
    sizes: Counter[int]
    repairs: Counter[str]
    flags: Counter[str]
    baseline: Baseline  # in English, or in the first language without English
    figures: tuple[str, ...]  # the headline figures that a run has
    notes: dict[str, Any]  # on the build; empty if the dataset depends only on its source


def read_config(folder: Path, name: str) -> Config:
    """Return the description of one configuration, read from its Parquet files."""
    paths = sorted((folder / "data" / name).glob("*.parquet"))
    tables = [read_parquet(path) for path in paths]
    first = tables[0]
    flagged = first["flags"].to_pylist() if "flags" in first.column_names else []
    parts = [x["repairs"].to_pylist() for x in tables if "repairs" in x.column_names]
    repairs = Counter(code for row in zip(*parts, strict=True) for code in set().union(*row))
    reference = next((n for n, path in enumerate(paths) if path.stem == "en"), 0)
    # A protocol adds the other candidates of rows of one, so their baseline is unknown here.
    baseline = Baseline(tables[reference].num_rows, None, None, None)
    if pc.max(pc.list_value_length(tables[reference]["candidates"])).as_py() != 1:
        split = read_split(paths[reference].stem, tables[reference], name)
        baseline = find_baselines(split, all(find_ids({split.language: split})))[""]
    figures: tuple[str, ...] = HEADLINES
    if len(tables) == 1:
        figures = HEADLINES[:1]
    elif find_different(tables).any():  # no rankings to compare
        figures = UNRANKED
    splits = [
        SplitSize(x.stem, f"data/{name}/{x.name}", len(y), x.stat().st_size, y.nbytes)
        for x, y in zip(paths, tables, strict=True)
    ]
    schema, relations = first.schema.remove_metadata(), count_values(first["relation"])
    sizes = count_values(pc.list_value_length(first["candidates"]))
    flags = Counter(flag for row in flagged for flag in row)
    notes = json.loads((first.schema.metadata or {}).get(NOTES.encode(), b"{}"))
    return Config(name, splits, schema, relations, sizes, repairs, flags, baseline, figures, notes)


def read_parquet(path: Path) -> pa.Table:
    """Return the table of a split; PolyprobeError with the path of a damaged file."""
    try:
        return pq.read_table(path, page_checksum_verification=True)
    except UNREADABLE as error:
        remedy = f"build it again: --config {path.parent.name}"
        raise PolyprobeError(f"{path} is not a Parquet file; {remedy}") from error


def count_values(column: pa.ChunkedArray) -> Counter[Any]:
    """Return the number of each value, in the order of first occurrence."""
    return Counter({x["values"].as_py(): x["counts"].as_py() for x in pc.value_counts(column)})


def hash_base(folder: Path, config: str, languages: Iterable[str]) -> str:
    """Return a hash of a configuration's files in some languages; "" if one is missing."""
    data = folder / "data" / config
    paths = [data / f"{split_name(language)}.parquet" for language in sorted(languages)]
    if not all(path.is_file() for path in paths):
        return ""
    return hash_files(("", path) for path in paths)
