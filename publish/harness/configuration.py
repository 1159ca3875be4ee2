"""What is exported: a configuration's prompts and files by language."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import datasets

from polyprobe.publish.names import check_dataset_id
from polyprobe.schema.columns import SLOT
from polyprobe.schema.load import load_facts
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.files import write_whole

PARTS = {"train", "test", "validation"}


class Configuration(NamedTuple):
    """A configuration of a dataset, checked.

    Attributes:
        dataset: its name, as the tasks' names have it.
        name: the configuration's own.
        dataset_id: where the dataset lies on the Hub, None for local files.
        files: absolute paths of the Parquet files, by language in the order of the tasks.
        fingerprint: 12 hexadecimal digits that change with any of these files.
        prefixes: by language, what stands before the slot in each row.
    """

    dataset: str
    name: str
    dataset_id: str | None
    files: Mapping[str, Sequence[str]]
    fingerprint: str
    prefixes: Mapping[str, Sequence[str]]

    @property
    def title(self) -> str:
        """Return both names, for people."""
        return f"{self.dataset}/{self.name}"

    def stem(self, scoring: str) -> str:
        """Return the name that all tasks of a scoring begin with.

        >>> Configuration("geofacts", "default", None, {}, "", {}).stem("object")
        'polyprobe_geofacts_default_object'
        """
        asked = [scoring] if scoring != "bmlama" else []
        parts = ("polyprobe", self.dataset, self.name, *asked)
        return "_".join(re.sub(r"[^A-Za-z0-9_-]", "-", part) for part in parts)


def read_configuration(
    folder: Path,
    config: str | None = None,
    languages: Sequence[str] | None = None,
    dataset_id: str | None = None,
) -> Configuration:
    """Return what is exported; the arguments are those of `export_dataset`."""
    own = check_dataset_id(dataset_id).partition("/")[2] if dataset_id is not None else None
    if not folder.is_dir():
        raise PolyprobeError(f"no such folder: {folder}; give that of a dataset")
    place = folder.resolve()
    tables = load_facts(str(place), config, languages)
    name, found = find_files(place, config)
    files = {language: found[language] for language in tables}
    prefixes = {
        language: [prompt[: prompt.index(SLOT)] for prompt in table["prompt"].to_pylist()]
        for language, table in tables.items()
    }
    return Configuration(own or place.name, name, dataset_id, files, fingerprint(files), prefixes)


def find_files(place: Path, config: str | None) -> tuple[str, dict[str, list[str]]]:
    """Return a configuration's name and {language: Parquet files}, as `load_dataset` finds them.

    Raises:
        PolyprobeError: the splits are no languages, or a file is no Parquet.
    """
    chosen = datasets.load_dataset_builder(str(place), config).config
    files = {
        str(split): [str(file) for file in paths] for split, paths in chosen.data_files.items()
    }
    if set(files) <= PARTS:
        raise PolyprobeError(
            f"{place} has the splits {', '.join(files)}, and not one a language; "
            "name the languages' files in the card's configs"
        )
    for file in (file for paths in files.values() for file in paths):
        if not file.endswith(".parquet"):
            raise PolyprobeError(f"{place}: {file} is no Parquet file; expected Parquet alone")
    return chosen.name, files


def fingerprint(files: Mapping[str, Sequence[str]]) -> str:
    """Return 12 hexadecimal digits made from the languages' names and their files' bytes."""
    digest = hashlib.sha256()
    for language, paths in files.items():
        digest.update(language.encode())
        for path in paths:
            digest.update(hashlib.sha256(Path(path).read_bytes()).digest())
    return digest.hexdigest()[:12]


OURS = ("polyprobe_", "_polyprobe_", "__pycache__")


def check_output(folder: Path) -> None:
    """Refuse a folder that holds anything but exported tasks."""
    if folder.exists() and not folder.is_dir():
        raise PolyprobeError(f"{folder} is a file; give a folder with --output")
    others = [path for path in folder.glob("*") if not path.name.startswith(OURS)]
    if others:
        raise PolyprobeError(
            f"{folder} holds {min(others).name}, which is no exported task; "
            "give a new folder with --output"
        )


def write_files(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write the texts by their names, relative to the folder, and return their paths.

    Tasks of languages that an earlier export had and this one has not are removed: they name the
    shared file of the group, the only name of `texts` that begins with `_`.
    """
    paths = {name: folder / name for name in texts}
    for name, text in texts.items():
        write = partial(Path.write_text, data=text, encoding="utf-8", newline="\n")
        write_whole(paths[name], write, "choose another --output")
    shared = [name for name in texts if name.startswith("_")]
    for path in folder.glob("polyprobe_*.yaml") if shared else ():
        if path.name not in texts and f"include: {shared[0]}\n" in path.read_text("utf-8"):
            path.unlink()
    return list(paths.values())
