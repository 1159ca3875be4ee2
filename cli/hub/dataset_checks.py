"""What must hold of a dataset's folder before it is pushed: card, configurations, rows."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from polyprobe.builder.card import describe_feature
from polyprobe.builder.table import SCHEMA, SLOT


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
            for config in self.card.get("configs") or ()
            for part in config.get("data_files") or ()
        ]

    def read(self, split: Split, columns: list[str] | None = None) -> pa.Table:
        """Return a split's rows."""
        return pq.read_table(self.folder / split.path, columns=columns)

    def schema(self, split: Split) -> pa.Schema:
        """Return a split's columns."""
        return pq.read_schema(self.folder / split.path)


def no_configs(dataset: Dataset) -> Iterator[str]:
    """Find a card that lists no configuration with its files, one a split."""
    if not dataset.splits:
        yield "README.md: 'configs' lists no data_files (split and path of each); build it again"


def missing_file(dataset: Dataset) -> Iterator[str]:
    """Find splits whose file is not there."""
    for split in dataset.splits:
        if split.path not in dataset.files:
            yield f"README.md: {split.config}/{split.name} is to lie in {split.path}: no such file"


def unlisted_file(dataset: Dataset) -> Iterator[str]:
    """Find Parquet in data/ that no configuration of the card names."""
    listed = {split.path for split in dataset.splits}
    for path in dataset.files:
        if path.startswith("data/") and path not in listed:
            yield f"{path}: in no configuration of README.md; build its configuration again"


def unreadable(dataset: Dataset) -> Iterator[str]:
    """Find files that are no Parquet, or not all of it."""
    for split in dataset.splits:
        try:
            dataset.read(split, ["fact_id"])
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
    told = {info.get("config_name"): info for info in dataset.card.get("dataset_info") or ()}
    for split in dataset.splits:
        info = told.get(split.config) or {}
        rows = {part.get("name"): part.get("num_examples") for part in info.get("splits") or ()}
        held = pq.read_metadata(dataset.folder / split.path).num_rows
        if rows.get(split.name) != held:
            told_rows = f"README.md: {split.config}/{split.name} has {rows.get(split.name)} rows"
            yield f"{told_rows}; {held} lie in {split.path}; build it again"
        columns = [describe_feature(field) for field in dataset.schema(split)]
        if info.get("features") != columns:
            yield f"README.md: the features of {split.config} are not the columns of {split.path}"


def not_parallel(dataset: Dataset) -> Iterator[str]:
    """Find splits whose rows are other facts than those of their configuration's first split."""
    first: dict[str, tuple[str, pa.ChunkedArray]] = {}
    for split in dataset.splits:
        facts = dataset.read(split, ["fact_id"])["fact_id"]
        name, expected = first.setdefault(split.config, (split.path, facts))
        if not facts.equals(expected):
            row = first_difference(facts, expected)
            yield f"{split.path}: row {row} is another fact than in {name}; rows must be parallel"


def first_difference(one: pa.ChunkedArray, other: pa.ChunkedArray) -> int:
    """Return the number of the first row in which two columns differ."""
    pairs = zip(one.to_pylist(), other.to_pylist(), strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def wrong_slots(dataset: Dataset) -> Iterator[str]:
    """Find prompts that do not hold the slot exactly once."""
    for split in dataset.splits:
        counts = pc.count_substring(dataset.read(split, ["prompt"])["prompt"], SLOT)
        wrong = pc.indices_nonzero(pc.not_equal(counts.fill_null(0), 1)).to_pylist()
        if wrong:
            yield f"{split.path}: row {wrong[0]} has no prompt with exactly one {SLOT}{more(wrong)}"


def wrong_answers(dataset: Dataset) -> Iterator[str]:
    """Find rows without a right answer, or with one that is no candidate."""
    for split in dataset.splits:
        table = dataset.read(split, ["answers", "candidates"]).to_pydict()
        rows = zip(table["answers"], table["candidates"], strict=True)
        wrong = [i for i, (a, c) in enumerate(rows) if not a or not 0 <= min(a) <= max(a) < len(c)]
        if wrong:
            yield f"{split.path}: row {wrong[0]} has answers that are no candidates{more(wrong)}"


def more(rows: list[int]) -> str:
    """Return how many rows there are beside the first one."""
    return f", nor have {len(rows) - 1} more" if len(rows) > 1 else ""


Check = Callable[[Dataset], Iterator[str]]
# A stage is looked at where the one before found nothing: it may rely on it.
STAGES: tuple[dict[str, Check], ...] = (
    {"no-configs": no_configs},
    {"missing-file": missing_file, "unlisted-file": unlisted_file},
    {"unreadable": unreadable},
    {"wrong-columns": wrong_columns},
    {
        "other-features": other_features,
        "not-parallel": not_parallel,
        "wrong-slots": wrong_slots,
        "wrong-answers": wrong_answers,
    },
)
