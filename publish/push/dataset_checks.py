"""What must hold of a dataset's folder before it is pushed: card, configurations, rows."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from polyprobe.builder.output.card import describe_feature
from polyprobe.schema.checks import check
from polyprobe.schema.columns import SCHEMA
from polyprobe.system.errors import PolyprobeError


class Split(NamedTuple):
    """One split as the card lists it."""

    config: str
    name: str
    path: str


class Dataset(NamedTuple):
    """A dataset's folder, its card's YAML, and the splits that this lists."""

    folder: Path
    card: Mapping[str, Any]
    files: list[str]

    @property
    def splits(self) -> list[Split]:
        """Return the splits of all configurations, in the card's order."""
        return [
            Split(str(config.get("config_name")), str(part.get("split")), str(part.get("path")))
            for config in dictionaries(self.card.get("configs"))
            for part in dictionaries(config.get("data_files"))
        ]

    def read(self, split: Split) -> pa.Table:
        """Return a split's rows."""
        return pq.read_table(self.folder / split.path)

    def schema(self, split: Split) -> pa.Schema:
        """Return a split's columns."""
        return pq.read_schema(self.folder / split.path)


def dictionaries(value: Any) -> list[Mapping[str, Any]]:
    """Return the dictionaries in a list of the card; what has another shape has none."""
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def no_configs(dataset: Dataset) -> Iterator[str]:
    """Find a card that lists no configuration with its files, one a split."""
    if not dataset.splits:
        yield "README.md: 'configs' lists no data_files (split and path of each); build it again"


def missing_file(dataset: Dataset) -> Iterator[str]:
    """Find splits whose file is not there."""
    for split in dataset.splits:
        if split.path not in dataset.files:
            there = (dataset.folder / split.path).is_file()
            what = "push takes data/CONFIG/LANGUAGE.parquet alone" if there else "no such file"
            yield f"README.md: {split.config}/{split.name} is to lie in {split.path}: {what}"


def unlisted_file(dataset: Dataset) -> Iterator[str]:
    """Find Parquet that is of no configuration of the card: rows, or what became of them."""
    configs = {split.config for split in dataset.splits}
    listed = {split.path for split in dataset.splits}
    listed |= {f"sentences/{config}.parquet" for config in configs}
    for path in dataset.files:
        if path.endswith(".parquet") and path not in listed:
            yield f"{path}: in no configuration of README.md; build its configuration again"


def unreadable(dataset: Dataset) -> Iterator[str]:
    """Find files that are no Parquet, or not all of it."""
    for split in dataset.splits:
        try:
            dataset.read(split)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0]
            yield f"{split.path}: cannot be read ({reason}); build {split.config} again"


def wrong_columns(dataset: Dataset) -> Iterator[str]:
    """Find splits without the columns that every dataset shares, or of another type."""
    for split in dataset.splits:
        columns = dataset.schema(split)
        for field in SCHEMA:
            if field.name not in columns.names:
                yield f"{split.path}: no column '{field.name}'"
            elif not columns.field(field.name).type.equals(field.type):
                kind = columns.field(field.name).type
                yield f"{split.path}: column '{field.name}' is {kind}; expected {field.type}"


def other_features(dataset: Dataset) -> Iterator[str]:
    """Find configurations of which the card tells other columns or row counts than the files."""
    told = {
        info.get("config_name"): info for info in dictionaries(dataset.card.get("dataset_info"))
    }
    for split in dataset.splits:
        info = told.get(split.config) or {}
        rows = {
            part.get("name"): part.get("num_examples") for part in dictionaries(info.get("splits"))
        }
        held = pq.read_metadata(dataset.folder / split.path).num_rows
        if rows.get(split.name) != held:
            told_rows = f"README.md: {split.config}/{split.name} has {rows.get(split.name)} rows"
            yield f"{told_rows}; {held} lie in {split.path}; build it again"
        columns = [describe_feature(field) for field in dataset.schema(split)]
        if info.get("features") != columns:
            yield f"README.md: the features of {split.config} are not the columns of {split.path}"


def wrong_rows(dataset: Dataset) -> Iterator[str]:
    """Find configurations that `polyprobe eval` refuses: a row without slot, answer or parallel."""
    by_config: dict[str, dict[str, pa.Table]] = {}
    for split in dataset.splits:
        by_config.setdefault(split.config, {})[split.name] = dataset.read(split)
    for config, tables in by_config.items():
        try:
            check(tables, config)
        except PolyprobeError as error:
            yield str(error)


Check = Callable[[Dataset], Iterator[str]]
# A stage is looked at where the one before found nothing: it may rely on it.
STAGES: tuple[dict[str, Check], ...] = (
    {"no-configs": no_configs},
    {"missing-file": missing_file, "unlisted-file": unlisted_file},
    {"unreadable": unreadable},
    {"wrong-columns": wrong_columns},
    {"other-features": other_features, "wrong-rows": wrong_rows},
)
