"""Checks before a push: card, licence and files of a dataset, a metric or a board."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from polyprobe.analysis.board import CARD, FILES, JSON, SEALED
from polyprobe.builder.output.folder import describe_feature
from polyprobe.schema import locate
from polyprobe.schema.columns import SCHEMA, UNREADABLE, check, has_prompts
from polyprobe.schema.run.folder import SEAL
from polyprobe.system.files import hash_json
from polyprobe.system.messages import PolyprobeError, one_line

from .install import import_evaluate
from .source import Source

SHOWN = 5
NEEDED = ("title", "sdk", "app_file", "license")
REMAKE = "make it again with `polyprobe board`"
_read = partial(pq.read_table, page_checksum_verification=True)


def check_source(source: Source) -> None:
    """Refuse a folder by the first problems that are found."""
    if "README.md" not in source.files:
        raise PolyprobeError(f"{source.folder} has no README.md, the card that the Hub shows")
    for stage in STAGES[source.kind]:
        faults = [line for find in stage for line in find(source)]
        if faults:
            rest = f" (and {len(faults) - SHOWN} more)" if len(faults) > SHOWN else ""
            text = f"{source.folder} cannot be pushed: {'; '.join(faults[:SHOWN])}{rest}"
            raise PolyprobeError(text)


def find_objections(card: Mapping[str, Any]) -> dict[str, str]:
    """Map each licence of a card that does not permit publication to the reason.

    The ids are those of the Hub. A card without a licence has the licence `unknown`, as on the Hub.

    >>> find_objections({"license": ["apache-2.0", "unknown"]})
    {'unknown': 'the owners of the data have not permitted its publication'}
    """
    licences = card.get("license") or "unknown"
    names = map(str, licences if isinstance(licences, list) else [licences])
    return {name: reason for name in names if (reason := _object_to(name, card))}


def _object_to(licence: str, card: Mapping[str, Any]) -> str:
    name = str(card.get("license_name") or "") if licence == "other" else licence
    if licence == "unknown":
        return "the owners of the data have not permitted its publication"
    if not name or (licence == "other" and not card.get("license_link")):
        return "license_name and license_link are missing, which a licence of another kind needs"
    # Creative Commons and others name a licence without derivatives by "nd".
    if "nd" in re.split(r"[^a-z0-9]+", name.lower()):
        return "it forbids the publication of adapted material, and this data is adapted"
    return ""


def other_files(dataset: Source) -> Iterator[str]:
    """Find splits without a file or with another one's, and Parquet files not in the card."""
    splits = locate.list_splits(dataset.card)
    if not splits:
        yield "README.md: 'configs' lists no data_files (split and path of each); build it again"
        return
    for split in splits:
        if split.path not in dataset.files:
            there = (dataset.place / split.path).is_file()
            problem = "push takes data/CONFIG/LANGUAGE.parquet only" if there else "no such file"
            yield f"README.md: {split.config}/{split.name} is {split.path}: {problem}"
    sentences = {f"sentences/{split.config}.parquet" for split in splits}
    paths = [x for x in dataset.files if x.endswith(".parquet") and x not in sentences]
    for problem in locate.find_misplaced(splits, paths):
        yield f"README.md: {problem}; build it again"


def wrong_columns(dataset: Source) -> Iterator[str]:
    """Find files that are not Parquet, or lack a shared column, or have it in another type."""
    for split in locate.list_splits(dataset.card):
        try:
            columns = _read(dataset.place / split.path).schema
        except UNREADABLE as error:
            reason = str(error).splitlines()[0]
            yield f"{split.path}: cannot be read ({reason}); build {split.config} again"
            continue
        for field in SCHEMA:
            if field.name not in columns.names:
                yield f"{split.path}: no column '{field.name}'"
            elif not (kind := columns.field(field.name).type).equals(field.type):
                yield f"{split.path}: column '{field.name}' is {kind}; expected {field.type}"


def other_features(dataset: Source) -> Iterator[str]:
    """Find configurations with other columns or row counts in the card than in the files."""
    infos = {x.get("config_name"): x for x in locate.dictionaries(dataset.card.get("dataset_info"))}
    for split in locate.list_splits(dataset.card):
        info = infos.get(split.config) or {}
        splits = locate.dictionaries(info.get("splits"))
        sizes = {x.get("name"): x.get("num_examples") for x in splits}
        held = pq.read_metadata(dataset.place / split.path).num_rows
        if sizes.get(split.name) != held:
            card_rows = f"README.md: {split.config}/{split.name} has {sizes.get(split.name)} rows"
            yield f"{card_rows}; {split.path} has {held}; build it again"
        columns = [describe_feature(field) for field in pq.read_schema(dataset.place / split.path)]
        if info.get("features") != columns:
            yield f"README.md: the features of {split.config} are not the columns of {split.path}"


def wrong_rows(dataset: Source) -> Iterator[str]:
    """Find configurations that `polyprobe eval` refuses: a bad row, or splits not parallel."""
    # Rows with a prompt for each candidate are for `--scoring contrastive`, which compares no
    # rankings: languages may have other candidates.
    by_config: dict[str, dict[str, pa.Table]] = {}
    for split in locate.list_splits(dataset.card):
        by_config.setdefault(split.config, {})[split.name] = _read(dataset.place / split.path)
    for config, tables in by_config.items():
        try:
            check(tables, config, any(map(has_prompts, tables.values())))
        except PolyprobeError as error:
            yield str(error)


def incomplete_card(space: Source) -> Iterator[str]:
    """Find a card without a key that a Space needs, with another SDK, or with a missing app."""
    sdk = "static" if JSON in space.files else "gradio"
    for key in NEEDED if sdk == "static" else (*NEEDED, "sdk_version"):
        if not space.card.get(key):
            yield f"README.md: '{key}' is missing in the YAML; a Space needs it"
    if space.card.get("sdk") not in (None, sdk):
        yield f"README.md: sdk is {space.card['sdk']!r}; expected {sdk!r}"
    app = space.card.get("app_file")
    if app and app not in space.files:
        yield f"README.md: app_file is {app!r}: no such file"


def not_loading(metric: Source) -> Iterator[str]:
    """Find a module that evaluate cannot load."""
    evaluate = import_evaluate()
    try:
        evaluate.load(str(metric.place / f"{metric.place.name}.py"))
    except (Exception, SystemExit) as error:  # any code may be in it
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        yield f"{metric.place.name}.py: evaluate cannot load it: {reason}"


def changed_file(board: Source) -> Iterator[str]:
    """Find a file that was changed after `board` wrote it; README.md is meant to be edited."""
    try:
        content = json.loads((board.place / JSON).read_text(encoding="utf-8"))
        seal, hashes = content.pop(SEAL, None), {**content[SEALED]}
        changed = [JSON] if seal != hash_json(content) else []
        for name in (x for x in FILES if x not in (CARD, JSON) and not changed):
            digest = hashlib.sha256((board.place / name).read_bytes()).hexdigest()
            changed += [name] if digest != hashes.get(name) else []
    except (AttributeError, KeyError, OSError, RecursionError, TypeError, ValueError) as error:
        yield f"{JSON}, or a file that it names, cannot be read ({one_line(error)}); {REMAKE}"
        return
    yield from (f"{name} was changed after it was written; {REMAKE}" for name in changed)


# By kind of the folder. A stage runs if the one before found nothing, and relies on that.
STAGES: dict[str, tuple[list[Callable[[Source], Iterator[str]]], ...]] = {
    "dataset": ([other_files], [wrong_columns], [other_features, wrong_rows]),
    "board": ([incomplete_card], [changed_file]),
    "space": ([incomplete_card], [not_loading]),
}
