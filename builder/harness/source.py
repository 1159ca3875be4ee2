"""What is exported: a configuration's files by language, refused where a row cannot be asked."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from polyprobe import PolyprobeError

from ..names import unknown
from ..table import SLOT
from .rows import read_prompts

PARTS = {"train", "test", "validation"}


class Source(NamedTuple):
    """A configuration of a dataset, checked.

    Attributes:
        name: of the dataset, as the tasks' names have it.
        config: the configuration's own name.
        dataset_id: where it lies on the Hub, None for local files.
        files: absolute paths of the Parquet files, by language in the order of the tasks.
        fingerprint: 12 hexadecimal digits that change with any of these files.
        prefixes: by language, what stands before the slot in each row.
    """

    name: str
    config: str
    dataset_id: str | None
    files: Mapping[str, Sequence[str]]
    fingerprint: str
    prefixes: Mapping[str, Sequence[str]]

    def stem(self, scoring: str) -> str:
        """Return the name that all tasks of a scoring begin with.

        >>> Source("geofacts", "default", None, {}, "", {}).stem("object")
        'polyprobe_geofacts_default_object'
        """
        parts = ("polyprobe", self.name, self.config, *([scoring] if scoring != "bmlama" else []))
        return "_".join(re.sub(r"[^A-Za-z0-9_-]", "-", part) for part in parts)


def read_source(
    folder: Path,
    config: str | None = None,
    languages: Sequence[str] | None = None,
    dataset_id: str | None = None,
) -> Source:
    """Return what is exported; the arguments are those of `export_dataset`."""
    if dataset_id is not None:
        check_id(dataset_id)
    name, config, found = find_files(folder, config)
    place = f"{folder}/{config}"
    chosen = list(dict.fromkeys(found if languages is None else languages))
    if not chosen:
        raise PolyprobeError(f"no languages were named; available in {place}: {', '.join(found)}")
    for language in chosen:
        if language not in found:
            raise unknown("language", language, place, found)
    files = {language: found[language] for language in chosen}
    prompts = {
        language: read_prompts(paths, f"{place}: language '{language}'")
        for language, paths in files.items()
    }
    prefixes = {
        language: [prompt[: prompt.index(SLOT)] for prompt in texts]
        for language, texts in prompts.items()
    }
    own = dataset_id.partition("/")[2] if dataset_id else name
    return Source(own, config, dataset_id, files, fingerprint(files), prefixes)


def check_id(dataset_id: str) -> None:
    """Refuse what is no OWNER/NAME."""
    if not re.fullmatch(r"[\w-][\w.-]*/[\w-][\w.-]*", dataset_id, re.ASCII):
        raise PolyprobeError(f"--dataset-id {dataset_id!r} is no name on the Hub; give OWNER/NAME")


def find_files(folder: Path, config: str | None) -> tuple[str, str, dict[str, list[str]]]:
    """Return name, configuration and {language: Parquet files}, as `load_dataset` would find them.

    Foreign cards and folders make `datasets` fail in many ways, so everything is caught.
    """
    import datasets

    place = folder.resolve()
    if not place.is_dir():
        raise PolyprobeError(f"no such folder: {folder}; give that of a dataset")
    level = datasets.logging.get_verbosity()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)
    try:
        chosen = choose_config(place, config)
        listed = datasets.load_dataset_builder(str(place), chosen).config.data_files
    except PolyprobeError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise PolyprobeError(
            f"{folder} is no dataset that can be loaded ({type(error).__name__}: {reason}); "
            "see `polyprobe build`"
        ) from error
    finally:
        datasets.logging.set_verbosity(level)
    files = {str(split): [str(file) for file in paths] for split, paths in listed.items()}
    check_files(files, f"{folder}/{chosen}")
    return place.name, chosen, files


def choose_config(place: Path, config: str | None) -> str:
    """Return the configuration asked for, or the default one."""
    import datasets

    known = datasets.get_dataset_config_names(str(place))
    chosen = config or datasets.get_dataset_default_config_name(str(place))
    if chosen is None:
        raise PolyprobeError(
            f"{place} has no default configuration; name one with --config: {', '.join(known)}"
        )
    if chosen not in known:
        raise unknown("configuration", chosen, str(place), known)
    return str(chosen)


def check_files(files: Mapping[str, Sequence[str]], place: str) -> None:
    """Refuse splits that are no languages, and files that are no Parquet."""
    if set(files) <= PARTS:
        raise PolyprobeError(
            f"{place} has the splits {', '.join(files)}, and not one a language; "
            "name the languages' files in the card's configs"
        )
    for file in (file for paths in files.values() for file in paths):
        if not file.endswith(".parquet"):
            raise PolyprobeError(f"{place}: {file} is no Parquet file; expected Parquet alone")


def fingerprint(files: Mapping[str, Sequence[str]]) -> str:
    """Return 12 hexadecimal digits made from the languages' names and their files' bytes."""
    digest = hashlib.sha256()
    for language, paths in files.items():
        digest.update(language.encode())
        for path in paths:
            digest.update(hashlib.sha256(Path(path).read_bytes()).digest())
    return digest.hexdigest()[:12]
