"""The dataset card: text from `recipes/NAME/card.md`, figures from the Parquet files."""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from huggingface_hub import DatasetCard, DatasetCardData

from polyprobe.system.errors import PolyprobeError

from . import sentence_part as sentence_card
from .tables import Config, SplitSize, columns_table, relations_table, statistics_table
from .write import NOTES

MARK = "<!-- made by `polyprobe build {name}`"
EDIT = " from builder/recipes/{folder}/card.md: edit there -->"
DTYPES = {"float": "float32"}  # name in Arrow: name in `datasets`
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**6, "100K<n<1M"))

Describe = Callable[[Sequence[Config]], dict[str, str]]


def render_card(
    folder: Path, name: str, configs: Sequence[str], default: str, describe: Describe
) -> str:
    """Return the card of the dataset in `folder`, for the `configs` that exist there.

    `default` is the default configuration; if it is not built, the first existing one is.
    `describe` returns the dataset-specific parts, {placeholder in the text: part}, for all
    configurations except sentence versions.
    """
    source = DatasetCard(read_prose(name))
    authored = source.data.to_dict()
    names = authored.pop("relations")
    present = [read_config(folder, config) for config in configs if is_built(folder, config)]
    chosen = default if is_built(folder, default) else present[0].name
    data = DatasetCardData(
        language=sorted({split.name.replace("_", "-") for c in present for split in c.splits}),
        size_categories=[size_category(present)],
        **authored,
        configs=[describe_files(config, chosen) for config in present],
        dataset_info=[describe_features(config) for config in present],
    )
    parts = {
        "columns": columns_table(present),
        "statistics": statistics_table(present),
        "relations": relations_table(present, names),
        **describe([config for config in present if not sentence_card.is_sentence_version(config)]),
        **sentence_card.describe(present, folder),
    }
    body = re.sub(r"<!-- (\w+) -->", lambda place: parts[place[1]], source.text.strip())
    mark = MARK.format(name=name) + EDIT.format(folder=name.replace("-", "_"))
    return f"---\n{data.to_yaml()}\n---\n{mark}\n\n{body}\n"


def read_prose(name: str) -> str:
    """Return `recipes/NAME/card.md`: the YAML and the text written by hand."""
    folder = files("polyprobe.builder.recipes").joinpath(name.replace("-", "_"))
    return folder.joinpath("card.md").read_text(encoding="utf-8")


def is_built(folder: Path, config: str) -> bool:
    """Return whether the folder contains the configuration."""
    return any((folder / "data" / config).glob("*.parquet"))


def read_config(folder: Path, name: str) -> Config:
    """Return the description of one configuration, read from its Parquet files."""
    paths = sorted((folder / "data" / name).glob("*.parquet"))
    tables = [read_parquet(path) for path in paths]
    first = tables[0]
    return Config(
        name=name,
        splits=[describe_split(*pair, folder) for pair in zip(paths, tables, strict=True)],
        schema=first.schema.remove_metadata(),
        relations=Counter(first["relation"].to_pylist()),
        sizes=Counter(pc.list_value_length(first["candidates"]).to_pylist()),
        repairs=count_repairs(tables) if "repairs" in first.column_names else Counter(),
        notes=json.loads((first.schema.metadata or {}).get(NOTES.encode(), b"{}")),
    )


def count_repairs(tables: Sequence[pa.Table]) -> Counter[str]:
    """Return the number of rows with each code in at least one language."""
    found = zip(*(table["repairs"].to_pylist() for table in tables), strict=True)
    return Counter(code for row in found for code in set().union(*row))


def describe_split(path: Path, table: pa.Table, folder: Path) -> SplitSize:
    """Return the size of one split; bytes in memory are Arrow's, as `datasets` counts them."""
    return SplitSize(
        name=path.stem,
        path=path.relative_to(folder).as_posix(),
        rows=table.num_rows,
        bytes_on_disk=path.stat().st_size,
        bytes_in_memory=table.nbytes,
    )


def read_parquet(path: Path) -> pa.Table:
    """Return the table of a split; PolyprobeError with the path of a damaged file."""
    try:
        return pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        config = path.parent.name
        raise PolyprobeError(
            f"{path} is no Parquet file; build it again: --config {config}"
        ) from error


def describe_files(config: Config, default: str) -> dict[str, Any]:
    """Return the entry of `configs`: the paths of the splits for `load_dataset`."""
    return {
        "config_name": config.name,
        **({"default": True} if config.name == default else {}),
        "data_files": [{"split": split.name, "path": split.path} for split in config.splits],
    }


def describe_features(config: Config) -> dict[str, Any]:
    """Return the entry of `dataset_info`."""
    return {
        "config_name": config.name,
        "features": [describe_feature(field) for field in config.schema],
        "splits": [
            {"name": s.name, "num_bytes": s.bytes_in_memory, "num_examples": s.rows}
            for s in config.splits
        ],
        "download_size": sum(split.bytes_on_disk for split in config.splits),
        "dataset_size": sum(split.bytes_in_memory for split in config.splits),
    }


def describe_feature(field: pa.Field) -> dict[str, str]:
    """Return a column in the format of `datasets`, with the items' type under `list` for a list."""
    if pa.types.is_list(field.type):
        return {"name": field.name, "list": str(field.type.value_type)}
    return {"name": field.name, "dtype": DTYPES.get(str(field.type), str(field.type))}


def size_category(configs: list[Config]) -> str:
    """Return the Hub's size category for the rows of all configurations and languages."""
    rows = sum(split.rows for config in configs for split in config.splits)
    return next((name for limit, name in SIZES if rows < limit), "1M<n<10M")
