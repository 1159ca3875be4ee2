"""Checks of a dataset before a push: card, configurations, rows."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from polyprobe.builder.output.card import describe_feature
from polyprobe.schema.checks import check
from polyprobe.schema.columns import SCHEMA
from polyprobe.system.errors import PolyprobeError


class CardSplit(NamedTuple):
    """A split in the card."""

    config: str
    name: str
    path: str


class Dataset(NamedTuple):
    """A dataset's folder, the YAML of its card, and the paths of its files."""

    folder: Path
    card: Mapping[str, Any]
    files: list[str]

    @property
    def splits(self) -> list[CardSplit]:
        """Return the splits of all configurations in the order of the card."""
        return [
            CardSplit(str(config.get("config_name")), str(part.get("split")), str(part.get("path")))
            for config in dictionaries(self.card.get("configs"))
            for part in dictionaries(config.get("data_files"))
        ]

    def read(self, split: CardSplit) -> pa.Table:
        """Return the rows of a split."""
        return pq.read_table(self.folder / split.path)

    def schema(self, split: CardSplit) -> pa.Schema:
        """Return the columns of a split."""
        return pq.read_schema(self.folder / split.path)


def dictionaries(value: Any) -> list[Mapping[str, Any]]:
    """Return the dictionaries in a list of the card; other values are ignored."""
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def no_configs(dataset: Dataset) -> Iterator[str]:
    """Find a card without a list of files, one for each split."""
    if not dataset.splits:
        yield "README.md: 'configs' lists no data_files (split and path of each); build it again"


def missing_file(dataset: Dataset) -> Iterator[str]:
    """Find splits without a file."""
    for split in dataset.splits:
        if split.path not in dataset.files:
            there = (dataset.folder / split.path).is_file()
            problem = "push takes data/CONFIG/LANGUAGE.parquet only" if there else "no such file"
            yield f"README.md: {split.config}/{split.name} is {split.path}: {problem}"


def unlisted_file(dataset: Dataset) -> Iterator[str]:
    """Find Parquet files, of rows or sentences, that are in no configuration of the card."""
    configs = {split.config for split in dataset.splits}
    listed = {split.path for split in dataset.splits}
    listed |= {f"sentences/{config}.parquet" for config in configs}
    for path in dataset.files:
        if path.endswith(".parquet") and path not in listed:
            yield f"{path}: in no configuration of README.md; build its configuration again"


def unreadable(dataset: Dataset) -> Iterator[str]:
    """Find files that are not Parquet, or truncated."""
    for split in dataset.splits:
        try:
            dataset.read(split)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0]
            yield f"{split.path}: cannot be read ({reason}); build {split.config} again"


def wrong_columns(dataset: Dataset) -> Iterator[str]:
    """Find splits in which a shared column is missing or has another type."""
    for split in dataset.splits:
        columns = dataset.schema(split)
        for field in SCHEMA:
            if field.name not in columns.names:
                yield f"{split.path}: no column '{field.name}'"
            elif not columns.field(field.name).type.equals(field.type):
                kind = columns.field(field.name).type
                yield f"{split.path}: column '{field.name}' is {kind}; expected {field.type}"


def other_features(dataset: Dataset) -> Iterator[str]:
    """Find configurations with other columns or row counts in the card than in the files."""
    infos = {
        info.get("config_name"): info for info in dictionaries(dataset.card.get("dataset_info"))
    }
    for split in dataset.splits:
        info = infos.get(split.config) or {}
        rows = {
            part.get("name"): part.get("num_examples") for part in dictionaries(info.get("splits"))
        }
        held = pq.read_metadata(dataset.folder / split.path).num_rows
        if rows.get(split.name) != held:
            card_rows = f"README.md: {split.config}/{split.name} has {rows.get(split.name)} rows"
            yield f"{card_rows}; {split.path} has {held}; build it again"
        columns = [describe_feature(field) for field in dataset.schema(split)]
        if info.get("features") != columns:
            yield f"README.md: the features of {split.config} are not the columns of {split.path}"


def wrong_rows(dataset: Dataset) -> Iterator[str]:
    """Find configurations that `polyprobe eval` refuses: a bad row, or splits not parallel."""
    by_config: dict[str, dict[str, pa.Table]] = {}
    for split in dataset.splits:
        by_config.setdefault(split.config, {})[split.name] = dataset.read(split)
    for config, tables in by_config.items():
        try:
            check(tables, config)
        except PolyprobeError as error:
            yield str(error)


Check = Callable[[Dataset], Iterator[str]]
# A stage runs if the one before found nothing, and relies on that.
STAGES: tuple[dict[str, Check], ...] = (
    {"no-configs": no_configs},
    {"missing-file": missing_file, "unlisted-file": unlisted_file},
    {"unreadable": unreadable},
    {"wrong-columns": wrong_columns},
    {"other-features": other_features, "wrong-rows": wrong_rows},
)
