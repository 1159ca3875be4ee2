"""The folder of a dataset: checks, Parquet files and card; a configuration is replaced whole."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from polyprobe.schema.columns import Row, split_name, to_table
from polyprobe.schema.locate import SENTENCE
from polyprobe.system.files import LOCK, part_of, replacing, write_text
from polyprobe.system.messages import PolyprobeError, track

from .card import MARK, NOTES, Describe, read_config, render_benchmark, render_card

STATES = ("{}", ".{}.new", ".{}.old")  # a configuration's folder: complete, new, old


def list_configs(folder: Path) -> list[str]:
    """Return the configurations in a folder: subfolders of `data` with only Parquet files."""
    folders = sorted(path for path in folder.glob("data/[!.]*") if path.is_dir())
    return [path.name for path in folders if all(p.suffix == ".parquet" for p in path.iterdir())]


def list_versions(folder: Path, recipe_configs: Sequence[str]) -> list[str]:
    """Return the configurations of a recipe, then versions of them in the folder."""
    present = list_configs(folder)
    # A balanced set has no recipe: all configurations in the folder are its versions.
    if not recipe_configs:
        return present
    versions = [x for x in present if x.startswith(tuple(f"{y}-" for y in recipe_configs))]
    return [*dict.fromkeys([*recipe_configs, *versions])]


def check_mirror(mirror: Path | None) -> None:
    """Raise PolyprobeError if the mirror is not a folder."""
    if mirror is not None and not mirror.is_dir():
        text = f"{mirror} is a file; give --mirror the folder with the archives"
        raise PolyprobeError(text if mirror.is_file() else f"no mirror folder {mirror}")


def check_folder(folder: Path, name: str, configs: Sequence[str]) -> None:
    """Raise PolyprobeError unless the folder is missing, empty, or a build of this dataset.

    A configuration that a killed build left between its two renames is restored.
    """
    if folder.exists() and not folder.is_dir():
        raise PolyprobeError(f"{folder} is a file; give --output a folder")
    names = [*configs, *(config + SENTENCE for config in configs)]
    # A build is identified by its card; a killed one has none, and nothing that is not a build's.
    card = folder / "README.md"
    if card.is_file():
        is_build = MARK.format(name=name) in card.read_text(encoding="utf-8", errors="replace")
    else:
        # The paths that a complete or killed build may leave.
        data = folder / "data"
        states = {data / state.format(config) for config in names for state in STATES}
        states = {path for path in (*states, folder / "sentences") if not path.is_file()}
        parts = {part_of(folder / file) for file in ("README.md", "eval.yaml")}
        paths = {*folder.glob("*"), *folder.glob("data/*")} - {folder / LOCK}
        is_build = paths <= {data, *parts, *states, *folder.glob("LICENSE*")}
    if not is_build:
        text = f"{folder} holds something other than a build of {name}; give another --output"
        raise PolyprobeError(text)
    place = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise PolyprobeError(f"cannot write to {place}; give another --output")
    for config in names:
        recover(folder, config)


def check_same(folder: Path, name: str, expected: Mapping[str, object], remedy: str) -> None:
    """Raise PolyprobeError if the folder has the configuration with other notes than expected."""
    notes = read_notes(folder, name)
    if notes and any(notes.get(key) != value for key, value in expected.items()):
        raise PolyprobeError(
            f"{folder} holds another {name}, made by `{notes['command']}`; {remedy}, or remove "
            f"{folder / 'data' / name}"
        )


def read_notes(folder: Path, name: str) -> dict[str, Any]:
    """Return the notes of a configuration, with its `command`; none if it is not in the folder."""
    if not is_built(folder, name):
        return {}
    return {"command": "another program", **read_config(folder, name).notes}


def is_built(folder: Path, config: str) -> bool:
    """Return whether the folder contains the configuration."""
    return any((folder / "data" / config).glob("*.parquet"))


def recover(folder: Path, config: str) -> None:
    """Restore a configuration if a build was killed between its two renames."""
    target = folder / "data" / config
    old = target.with_name(f".{config}.old")
    if old.exists() and not target.exists():
        old.rename(target)


def write_config(
    folder: Path, config: str, splits: Mapping[str, Sequence[Row] | pa.Table], notes: str = ""
) -> None:
    """Write `folder/data/CONFIG/LANG.parquet` for every language, all or none."""
    # In `data/.CONFIG.new` first: after a full disk or Ctrl-C, the previous configuration remains.
    with replacing(folder / "data" / config, folder) as new:
        for language, part in track(splits.items(), f"writing {config}"):
            table = to_table(part)
            noted = table.replace_schema_metadata({NOTES: notes}) if notes else table
            write_split(noted, new / f"{split_name(language)}.parquet")


def write_split(table: pa.Table, path: Path) -> None:
    """Write one split as Parquet with zstd."""
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, compression="zstd", compression_level=9, write_page_checksum=True)
    # Written at once: a full disk is noticed before half a file looks like Parquet. On disk before
    # a folder with its name is renamed: a loss of power leaves no half of it either.
    with path.open("wb") as file:
        file.write(buffer.getvalue())
        file.flush()
        os.fsync(file.fileno())


def write_card(folder: Path, name: str, recipe_configs: Sequence[str], source: ModuleType) -> None:
    """Write card and `eval.yaml` of the configurations in the folder (`list_versions`)."""
    names = list_versions(folder, recipe_configs)
    descriptions = [read_config(folder, config) for config in names if is_built(folder, config)]
    figures = {config.name: config.figures for config in descriptions}
    benchmark = render_benchmark(name, figures, folder.absolute().name)
    # Balanced sets have no default, small recipes no text of their own.
    default = getattr(source, "DEFAULT_CONFIG", "")
    describe: Describe = getattr(source, "describe", lambda configs: {})
    write_text(folder / "README.md", render_card(folder, name, descriptions, default, describe))
    write_text(folder / "eval.yaml", benchmark)
