"""The description of a configuration on disk, read from its Parquet files."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from polyprobe.builder.audit.baseline import Baseline, find_baselines
from polyprobe.builder.audit.split import read_split
from polyprobe.metrics.joint import HEADLINES
from polyprobe.schema.checks import find_different
from polyprobe.schema.columns import UNREADABLE, split_name
from polyprobe.system.errors import PolyprobeError

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
    """A configuration on disk: its splits, and counts of its queries.

    `relations` counts queries by relation, `sizes` by number of candidates, `flags` by flag; they
    are the same in every language and read from the first. `baseline` is the accuracy without a
    model in English, or in the first language without English; it is undefined for rows of one
    candidate, whose others the protocol adds. `figures` are the headline figures that a run has:
    accuracy alone in one language, no RankC if languages have other candidates. `repairs` counts
    queries with a code in at least one language. `notes` describe the build; they are empty if the
    dataset depends only on its source.
    """

    name: str
    splits: list[SplitSize]
    schema: pa.Schema
    relations: Counter[str]
    sizes: Counter[int]
    repairs: Counter[str]
    flags: Counter[str]
    baseline: Baseline
    figures: tuple[str, ...]
    notes: dict[str, Any]


def read_config(folder: Path, name: str) -> Config:
    """Return the description of one configuration, read from its Parquet files."""
    paths = sorted((folder / "data" / name).glob("*.parquet"))
    tables = [read_parquet(path) for path in paths]
    first = tables[0]
    flagged = first["flags"].to_pylist() if "flags" in first.column_names else []
    place = next((n for n, path in enumerate(paths) if path.stem == "en"), 0)
    return Config(
        name=name,
        splits=[
            SplitSize(
                path.stem,
                path.relative_to(folder).as_posix(),
                table.num_rows,
                path.stat().st_size,
                table.nbytes,
            )
            for path, table in zip(paths, tables, strict=True)
        ],
        schema=first.schema.remove_metadata(),
        relations=count_values(first["relation"]),
        sizes=count_values(pc.list_value_length(first["candidates"])),
        repairs=count_repairs([x["repairs"] for x in tables if "repairs" in x.column_names]),
        flags=Counter(flag for row in flagged for flag in row),
        baseline=measure_baseline(paths[place].stem, tables[place], name),
        # languages with other candidates have no rankings to compare
        figures=HEADLINES[:1]
        if len(tables) == 1
        else UNRANKED
        if find_different(tables).any()
        else HEADLINES,
        notes=json.loads((first.schema.metadata or {}).get(NOTES.encode(), b"{}")),
    )


def read_parquet(path: Path) -> pa.Table:
    """Return the table of a split; PolyprobeError with the path of a damaged file."""
    try:
        return pq.read_table(path, page_checksum_verification=True)
    except UNREADABLE as error:
        config = path.parent.name
        raise PolyprobeError(
            f"{path} is not a Parquet file; build it again: --config {config}"
        ) from error


def count_values(column: pa.ChunkedArray) -> Counter[Any]:
    """Return the number of each value, in the order of first occurrence."""
    return Counter({x["values"].as_py(): x["counts"].as_py() for x in pc.value_counts(column)})


def count_repairs(columns: Sequence[pa.ChunkedArray]) -> Counter[str]:
    """Return the number of queries with each code in at least one language's column."""
    pairs = [
        pa.table([pc.list_parent_indices(part), pc.list_flatten(part)], ["row", "code"])
        for part in (column.combine_chunks() for column in columns)
    ]
    if not pairs:
        return Counter()
    return count_values(pa.concat_tables(pairs).group_by(["row", "code"]).aggregate([])["code"])


def measure_baseline(language: str, table: pa.Table, name: str) -> Baseline:
    """Return the accuracy of a split without a model; None if all rows have one candidate."""
    # A protocol adds the other candidates of such rows, so their baseline is unknown here.
    if pc.max(pc.list_value_length(table["candidates"])).as_py() == 1:
        return Baseline(table.num_rows, None, None)
    split = read_split(language, table, name)
    return find_baselines(split)[""]


def hash_base(folder: Path, config: str, languages: Iterable[str]) -> str:
    """Return a hash of a configuration's files in some languages; "" if one is missing."""
    digest = hashlib.sha256()
    for language in sorted(languages):
        file = folder / "data" / config / f"{split_name(language)}.parquet"
        if not file.is_file():
            return ""
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
