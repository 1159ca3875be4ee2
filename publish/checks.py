"""Checks before a push: card, licence and files of a dataset, a metric or a board."""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from packaging.utils import canonicalize_name

from polyprobe.analysis.board import JSON
from polyprobe.builder.output.card import describe_feature
from polyprobe.schema.card import (
    CardSplit,
    dictionaries,
    find_swapped,
    find_unlisted,
    list_splits,
    read_card,
)
from polyprobe.schema.checks import check
from polyprobe.schema.columns import SCHEMA, UNREADABLE
from polyprobe.system.errors import PolyprobeError, one_line
from polyprobe.system.hashing import hash_json

from .install import import_evaluate
from .source import Source, read_imports

SHOWN = 5
UNKNOWN = "the owners of the data have not permitted its publication"
NO_DERIVATIVES = "it forbids the publication of adapted material, and this data is adapted"
UNNAMED = "license_name and license_link are missing, which a licence of another kind needs"
NEEDED = ("title", "sdk", "app_file", "license")
AGAIN = "make it again with `polyprobe board`"


def check_source(source: Source) -> dict[str, Any]:
    """Return the YAML of a folder's card; refuse a folder by the first problems that are found."""
    card = find_card(source)
    subject = Subject(source.place, card, list(source.files))
    for stage in STAGES[source.kind]:
        faults = [line for find in stage.values() for line in find(subject)]
        if faults:
            rest = f" (and {len(faults) - SHOWN} more)" if len(faults) > SHOWN else ""
            raise PolyprobeError(
                f"{source.folder} cannot be pushed: {'; '.join(faults[:SHOWN])}{rest}"
            )
    return card


def find_card(source: Source) -> dict[str, Any]:
    """Return the YAML at the head of README.md."""
    if "README.md" not in source.files:
        raise PolyprobeError(f"{source.folder} has no README.md, the card that the Hub shows")
    return read_card(source.files["README.md"].path)


def find_objections(card: Mapping[str, Any]) -> dict[str, str]:
    """Return {licence: reason} of a card's licences that do not permit publication.

    The ids are those of the Hub. A card without a licence has the licence `unknown`, as on the Hub.

    >>> find_objections({"license": ["apache-2.0", "unknown"]})
    {'unknown': 'the owners of the data have not permitted its publication'}
    """
    licences = card.get("license") or "unknown"
    names = map(str, licences if isinstance(licences, list) else [licences])
    return {name: reason for name in names if (reason := object_to(name, card))}


def object_to(licence: str, card: Mapping[str, Any]) -> str:
    """Return why a licence does not permit publication, empty if it does."""
    name = str(card.get("license_name") or "") if licence == "other" else licence
    if licence == "unknown":
        return UNKNOWN
    if not name or (licence == "other" and not card.get("license_link")):
        return UNNAMED
    return NO_DERIVATIVES if "nd" in re.split(r"[^a-z0-9]+", name.lower()) else ""


class Subject(NamedTuple):
    """A folder, or a metric's bundle, the YAML of its card, the paths of its files."""

    folder: Path
    card: Mapping[str, Any]
    files: list[str]

    @property
    def splits(self) -> list[CardSplit]:
        """Return the splits of all configurations of a dataset in the order of the card."""
        return list_splits(self.card)

    def read(self, split: CardSplit) -> pa.Table:
        """Return the rows of a split."""
        return pq.read_table(self.folder / split.path, page_checksum_verification=True)


def no_configs(dataset: Subject) -> Iterator[str]:
    """Find a card without a list of files, one for each split."""
    if not dataset.splits:
        yield "README.md: 'configs' lists no data_files (split and path of each); build it again"


def missing_file(dataset: Subject) -> Iterator[str]:
    """Find splits without a file."""
    for split in dataset.splits:
        if split.path not in dataset.files:
            there = (dataset.folder / split.path).is_file()
            problem = "push takes data/CONFIG/LANGUAGE.parquet only" if there else "no such file"
            yield f"README.md: {split.config}/{split.name} is {split.path}: {problem}"


def unlisted_file(dataset: Subject) -> Iterator[str]:
    """Find Parquet files, of rows or sentences, that are in no configuration of the card."""
    sentences = {f"sentences/{split.config}.parquet" for split in dataset.splits}
    parquet = [path for path in dataset.files if path.endswith(".parquet")]
    for problem in find_unlisted(
        dataset.splits, [path for path in parquet if path not in sentences]
    ):
        yield f"{problem} of README.md; build its configuration again"


def swapped_file(dataset: Subject) -> Iterator[str]:
    """Find splits whose file is that of another split."""
    yield from (f"README.md: {problem}; build it again" for problem in find_swapped(dataset.splits))


def unreadable(dataset: Subject) -> Iterator[str]:
    """Find files that are not Parquet, or truncated."""
    for split in dataset.splits:
        try:
            dataset.read(split)
        except UNREADABLE as error:
            reason = str(error).splitlines()[0]
            yield f"{split.path}: cannot be read ({reason}); build {split.config} again"


def wrong_columns(dataset: Subject) -> Iterator[str]:
    """Find splits in which a shared column is missing or has another type."""
    for split in dataset.splits:
        columns = pq.read_schema(dataset.folder / split.path)
        for field in SCHEMA:
            if field.name not in columns.names:
                yield f"{split.path}: no column '{field.name}'"
            elif not columns.field(field.name).type.equals(field.type):
                kind = columns.field(field.name).type
                yield f"{split.path}: column '{field.name}' is {kind}; expected {field.type}"


def other_features(dataset: Subject) -> Iterator[str]:
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
        columns = [describe_feature(field) for field in pq.read_schema(dataset.folder / split.path)]
        if info.get("features") != columns:
            yield f"README.md: the features of {split.config} are not the columns of {split.path}"


def wrong_rows(dataset: Subject) -> Iterator[str]:
    """Find configurations that `polyprobe eval` refuses: a bad row, or splits not parallel."""
    by_config: dict[str, dict[str, pa.Table]] = {}
    for split in dataset.splits:
        by_config.setdefault(split.config, {})[split.name] = dataset.read(split)
    for config, tables in by_config.items():
        try:
            check(tables, config)
        except PolyprobeError as error:
            yield str(error)


def incomplete_card(metric: Subject) -> Iterator[str]:
    """Find a card without a key that a Gradio Space needs."""
    yield from find_lacking(metric.card, "gradio", (*NEEDED, "sdk_version"))


def find_lacking(card: Mapping[str, Any], sdk: str, keys: Sequence[str]) -> Iterator[str]:
    """Find missing keys of a Space's card, and another SDK."""
    for key in keys:
        if not card.get(key):
            yield f"README.md: '{key}' is missing in the YAML; a Space needs it"
    if card.get("sdk") not in (None, sdk):
        yield f"README.md: sdk is {card['sdk']!r}; expected {sdk!r}"


def missing_app(space: Subject) -> Iterator[str]:
    """Find a card with a missing `app_file`."""
    app = space.card.get("app_file")
    if app and app not in space.files:
        yield f"README.md: app_file is {app!r}: no such file"


def missing_sibling(metric: Subject) -> Iterator[str]:
    """Find a missing file that another imports as `from .NAME`."""
    for file, name, relative in list_imports(metric):
        if relative and f"{name}.py" not in metric.files:
            yield f"{file}: imports .{name}, and there is no {name}.py"


def missing_requirement(metric: Subject) -> Iterator[str]:
    """Find a package that a file imports and requirements.txt does not name.

    The name of a package may differ from that of its module: scikit-learn has sklearn.
    """
    requirements, distributions = read_requirements(metric), packages_distributions()
    for file, name, relative in list_imports(metric):
        # gradio is a requirement by `sdk_version` in the card.
        internal = relative or f"{name}.py" in metric.files or name == "gradio"
        if internal or name in sys.stdlib_module_names:
            continue
        if not requirements & {canonicalize_name(n) for n in (name, *distributions.get(name, ()))}:
            yield f"requirements.txt: {name} is missing, which {file} imports"


def list_imports(metric: Subject) -> list[tuple[str, str, bool]]:
    """Return all imports: file, first name of the module, whether it is `from .NAME`."""
    files = [file for file in metric.files if file.endswith(".py")]
    return [
        (file, name.split(".")[0], relative)
        for file in files
        for name, relative in read_imports(metric.folder / file)
    ]


def read_requirements(metric: Subject) -> set[str]:
    """Return the names of the packages in requirements.txt."""
    file = metric.folder / "requirements.txt"
    try:
        lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    except UnicodeDecodeError as error:
        raise PolyprobeError(f"{file} is not UTF-8 text: {error.reason}") from error
    return {canonicalize_name(re.split(r"[^\w.-]", line.strip())[0]) for line in lines}


def not_loading(metric: Subject) -> Iterator[str]:
    """Find a module that evaluate cannot load."""
    evaluate = import_evaluate()
    try:
        evaluate.load(str(metric.folder / f"{metric.folder.name}.py"))
    except (Exception, SystemExit) as error:  # any code may be in it
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        yield f"{metric.folder.name}.py: evaluate cannot load it: {reason}"


def incomplete_board_card(board: Subject) -> Iterator[str]:
    """Find a card without a key that a static Space needs."""
    yield from find_lacking(board.card, "static", NEEDED)


def other_page(board: Subject) -> Iterator[str]:
    """Find a page that is not of the figures in board.json."""
    try:
        content = json.loads((board.folder / JSON).read_text(encoding="utf-8"))
        page = (board.folder / board.card["app_file"]).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        yield f"{JSON} or the page cannot be read ({one_line(error)}); {AGAIN}"
        return
    if f'"seal":"{hash_json(content)}"' not in page:
        yield f"the page is not of the figures in {JSON}; {AGAIN}"


# A stage runs if the one before found nothing, and relies on that.
STAGES: dict[str, tuple[dict[str, Callable[[Subject], Iterator[str]]], ...]] = {
    "dataset": (
        {"no-configs": no_configs},
        {
            "missing-file": missing_file,
            "unlisted-file": unlisted_file,
            "swapped-file": swapped_file,
        },
        {"unreadable": unreadable},
        {"wrong-columns": wrong_columns},
        {"other-features": other_features, "wrong-rows": wrong_rows},
    ),
    "board": (
        {"incomplete-board-card": incomplete_board_card, "missing-app": missing_app},
        {"other-page": other_page},
    ),
    "space": (
        {"incomplete-card": incomplete_card, "missing-app": missing_app},
        {"missing-sibling": missing_sibling, "missing-requirement": missing_requirement},
        {"not-loading": not_loading},
    ),
}
