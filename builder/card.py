"""The dataset card: prose and licence from `sources/NAME.md`, figures from the Parquet files."""

import re
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from huggingface_hub import DatasetCard, DatasetCardData

from polyprobe import PolyprobeError

from .table import SCHEMA

MARK = "<!-- made by `polyprobe build {name}` from builder/sources/{name}.md: edit there -->"
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**6, "100K<n<1M"))

COLUMNS = {
    "fact_id": "the query, the same in every language and for ever",
    "relation": "Wikidata property",
    "subject_id": "id of the subject, empty where there is none",
    "object_id": "id of the object, empty where there is none",
    "subject": "label of the subject in this language",
    "prompt": "sentence with exactly one `[Y]`, the object's place",
    "candidates": "what may fill the place, as many and in the same order in every language",
    "candidate_ids": "ids of the candidates, an empty list where there are none",
    "answers": "indices of the right candidates",
    "answer_forms": "surface forms that count as right",
    "template_id": "the pattern that the prompt was made from",
}


class Split(NamedTuple):
    """One language of a configuration: the file and its size on disk and in memory, in bytes."""

    name: str
    path: str
    rows: int
    bytes_on_disk: int
    bytes_in_memory: int


class Config(NamedTuple):
    """One configuration as it lies on disk: its splits, and what its queries look like.

    `relations` counts queries, `sizes` counts queries by number of candidates; both are the same
    in every language and are read from the first.
    """

    name: str
    splits: list[Split]
    relations: Counter[str]
    sizes: Counter[int]


def render_card(folder: Path, name: str, configs: tuple[str, ...], default: str) -> str:
    """Return the card of the dataset in `folder`, for those of `configs` that are present there.

    The default configuration is `default`, or the first one present where that is not built.
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
        "columns": columns_table(),
        "statistics": statistics_table(present),
        "relations": relations_table(present, names),
    }
    body = re.sub(r"<!-- (\w+) -->", lambda place: parts[place[1]], source.text.strip())
    return f"---\n{data.to_yaml()}\n---\n{MARK.format(name=name)}\n\n{body}\n"


def read_prose(name: str) -> str:
    """Return `sources/NAME.md`: YAML that people decide on, and the text of the card."""
    return files(__package__).joinpath("sources", f"{name}.md").read_text(encoding="utf-8")


def is_built(folder: Path, config: str) -> bool:
    """Tell whether the folder holds the configuration."""
    return any((folder / "data" / config).glob("*.parquet"))


def read_config(folder: Path, name: str) -> Config:
    """Return what the card says of one configuration, read from its Parquet files."""
    paths = sorted((folder / "data" / name).glob("*.parquet"))
    first = read_parquet(paths[0])
    return Config(
        name=name,
        splits=[read_split(path, folder) for path in paths],
        relations=Counter(first["relation"].to_pylist()),
        sizes=Counter(pc.list_value_length(first["candidates"]).to_pylist()),
    )


def read_split(path: Path, folder: Path) -> Split:
    """Return the size of one split; bytes in memory are Arrow's, as `datasets` counts them."""
    table = read_parquet(path)
    return Split(
        name=path.stem,
        path=path.relative_to(folder).as_posix(),
        rows=table.num_rows,
        bytes_on_disk=path.stat().st_size,
        bytes_in_memory=table.nbytes,
    )


def read_parquet(path: Path) -> pa.Table:
    """Return the table of a split; a damaged file is named."""
    try:
        return pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        config = path.parent.name
        raise PolyprobeError(
            f"{path} is no Parquet file; build it again: --config {config}"
        ) from error


def describe_files(config: Config, default: str) -> dict[str, Any]:
    """Return the entry of `configs`, which tells `load_dataset` where the splits lie."""
    return {
        "config_name": config.name,
        **({"default": True} if config.name == default else {}),
        "data_files": [{"split": split.name, "path": split.path} for split in config.splits],
    }


def describe_features(config: Config) -> dict[str, Any]:
    """Return the entry of `dataset_info`."""
    return {
        "config_name": config.name,
        "features": [describe_feature(field) for field in SCHEMA],
        "splits": [
            {"name": s.name, "num_bytes": s.bytes_in_memory, "num_examples": s.rows}
            for s in config.splits
        ],
        "download_size": sum(split.bytes_on_disk for split in config.splits),
        "dataset_size": sum(split.bytes_in_memory for split in config.splits),
    }


def describe_feature(field: pa.Field) -> dict[str, str]:
    """Return a column in the manner of `datasets`, which writes `list` for a list's items."""
    if pa.types.is_list(field.type):
        return {"name": field.name, "list": str(field.type.value_type)}
    return {"name": field.name, "dtype": str(field.type)}


def size_category(configs: list[Config]) -> str:
    """Return the Hub's name for the number of rows of all configurations and languages."""
    rows = sum(split.rows for config in configs for split in config.splits)
    return next((name for limit, name in SIZES if rows < limit), "1M<n<10M")


def columns_table() -> str:
    """Return the table of columns, of which each has its description."""
    rows = [(f"`{f.name}`", str(f.type).replace("element: ", ""), COLUMNS[f.name]) for f in SCHEMA]
    return markdown_table(("column", "type", "what"), rows)


def statistics_table(configs: list[Config]) -> str:
    """Return one line a configuration: languages, queries, relations, candidates."""
    head = ("configuration", "languages", "queries", "relations", "candidates", "fewest", "most")
    return markdown_table(head, [describe_statistics(config) for config in configs])


def describe_statistics(config: Config) -> tuple[str, ...]:
    """Return the configuration's line; queries are those of one language, candidates the mean."""
    queries = config.sizes.total()
    candidates = sum(size * count for size, count in config.sizes.items()) / queries
    return (
        f"`{config.name}`",
        f"{len(config.splits)}",
        f"{queries:,}",
        f"{len(config.relations)}",
        f"{candidates:.2f}",
        f"{min(config.sizes)}",
        f"{max(config.sizes)}",
    )


def relations_table(configs: list[Config], names: dict[str, str]) -> str:
    """Return one line a relation: its number of queries in each configuration."""
    order = dict.fromkeys(relation for config in configs for relation in config.relations)
    rows = [
        (
            f"[{relation}](https://www.wikidata.org/wiki/Property:{relation})",
            names[relation],
            *(f"{config.relations[relation]}" for config in configs),
        )
        for relation in order
    ]
    return markdown_table(("relation", "name", *(f"`{c.name}`" for c in configs)), rows)


def markdown_table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
