"""What is exported: a run's settings and figures, and the dataset's name on the Hub."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from huggingface_hub import DatasetCard, try_to_load_from_cache
from huggingface_hub.utils import yaml_dump

from polyprobe.eval.run.folder import Run
from polyprobe.eval.run.settings import Settings
from polyprobe.eval.scoring.revision import is_hash
from polyprobe.publish.names import check_dataset_id
from polyprobe.schema.locate import locate
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.files import write_whole

from .rows import Row, list_rows

MANY = 10  # languages that are counted rather than named


class Exported(NamedTuple):
    """A run to be exported.

    Attributes:
        folder: of the run.
        settings: what run.json says.
        results: what results.json says.
        rows: its figures.
        dataset_id: OWNER/NAME on the Hub; None where the run's dataset is a folder and no name
            was given.
        config: the configuration's own name, also where the run took the default one.
        scored: when the last scores were written, in UTC, by the file system's clock.
    """

    folder: Path
    settings: Settings
    results: Mapping[str, Any]
    rows: list[Row]
    dataset_id: str | None
    config: str
    scored: datetime

    @property
    def dataset_name(self) -> str:
        """Return the name on the Hub, else the last part of the dataset's folder."""
        return self.dataset_id or self.settings.data_name.rpartition("/")[0]

    @property
    def model_id(self) -> str | None:
        """Return the model's name on the Hub, None for a model in a folder."""
        return None if is_hash(self.settings.revision) else self.settings.model

    @property
    def signature(self) -> str:
        """Return the run's signature, of many languages only their number and a hash of theirs.

        That of 53 languages has 800 characters, and would stand in every row of a table.
        """
        parts = self.settings.signature.split("|")
        if len(self.settings.languages) > MANY:
            hashes = json.dumps(self.settings.fingerprint, sort_keys=True).encode()
            short = f"{len(self.settings.languages)}@{hashlib.sha256(hashes).hexdigest()[:12]}"
            parts = [f"languages:{short}" if x.startswith("languages:") else x for x in parts]
        return "|".join(parts)

    @property
    def asked(self) -> str:
        """Return which rows of which languages the figures are of, in words.

        A run does not know how many languages the dataset has, so it names its own.
        """
        settings, names = self.settings, ", ".join(self.settings.languages)
        if len(settings.languages) > MANY:
            names = f"{len(settings.languages)} languages"
        return f"{names}; partial: {self.part}" if self.part else f"{names}; all rows"

    @property
    def part(self) -> str | None:
        """Return in words which rows were asked, None where all were.

        Where fewer came than were asked for, there were no more.
        """
        if self.results["n_queries"] < (self.settings.sample or self.settings.limit or 0):
            return None
        if self.settings.sample:
            return f"a sample of {self.settings.sample} rows"
        return f"the first {self.settings.limit} rows" if self.settings.limit else None


def read_exported(folder: Path, dataset_id: str | None) -> Exported:
    """Return what is to be exported of a run folder.

    Raises:
        PolyprobeError: no run, no results or those of fewer languages, a damaged file, a
            dataset's name that the Hub would not take.
    """
    run = Run(folder)
    settings = run.settings()
    results = _read_results(run, settings)
    try:
        rows = list_rows(results)
    except PolyprobeError as error:
        raise PolyprobeError(f"{folder}/{error}; {_remedy(run)}") from None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise PolyprobeError(f"{folder}/results.json lacks figures; {_remedy(run)}") from error
    name = choose_dataset_id(settings.dataset, dataset_id)
    return Exported(folder, settings, results, rows, name, find_config(settings), _last_scored(run))


def choose_dataset_id(dataset: str, given: str | None) -> str | None:
    """Return the dataset's name on the Hub: the given one, else the run's own where it has one."""
    own = None if Path(dataset).is_absolute() or dataset.count("/") != 1 else dataset
    name = given or own
    return check_dataset_id(name) if name else None


def find_config(settings: Settings) -> str:
    """Return the configuration that a run took, by the dataset's card where it named none.

    Without a card (a dataset of the Hub that is no longer in the cache) it is `default`.
    """
    if settings.config:
        return settings.config
    place = Path(locate(settings.dataset), "README.md")
    if not place.is_file() and settings.dataset.count("/") == 1:
        cached = try_to_load_from_cache(settings.dataset, "README.md", repo_type="dataset")
        place = Path(cached) if isinstance(cached, str) else place
    try:
        configs = DatasetCard.load(place).data.get("configs") or [] if place.is_file() else []
        chosen = [x for x in configs if x.get("default")] or configs
        return str(chosen[0]["config_name"]) if chosen else "default"
    except (AttributeError, KeyError, TypeError, ValueError, OSError):
        return "default"


def _read_results(run: Run, settings: Settings) -> dict[str, Any]:
    """Return results.json, which must be of all the languages that run.json lists."""
    if not (run.folder / "results.json").exists():
        raise PolyprobeError(f"{run.folder} has no results.json; {_remedy(run)}")
    results = run.read_json("results.json")
    if results.get("signature") != settings.signature:
        raise PolyprobeError(
            f"{run.folder}/results.json is not of what run.json says; {_remedy(run)}"
        )
    return results


def _remedy(run: Run) -> str:
    """Return what makes results.json: the metrics, or first the scores that are missing."""
    settings = run.settings()
    missing = run.missing(settings.languages, settings.kind)
    if missing:
        return f"the run was cut before {missing[0]!r}: run the same `polyprobe eval` again"
    return f"make it with `polyprobe metrics {run.folder}`"


def _last_scored(run: Run) -> datetime:
    files = [*run.folder.glob("scores/*.parquet"), *run.folder.glob("predictions/*.parquet")]
    newest = max(file.stat().st_mtime for file in files or [run.folder / "run.json"])
    return datetime.fromtimestamp(newest, UTC)


MARK = "made by `polyprobe export`"
REMEDY = "nothing was exported: choose another --output"


def write_export(file: Path, text: str) -> Path:
    """Write an exported file and return its path.

    What stands there is replaced if it begins with the same line: then it is an older export.

    Raises:
        PolyprobeError: another file stands there, or it cannot be written.
    """
    first = text.splitlines()[0]
    if file.is_file() and file.stat().st_size:
        with file.open(encoding="utf-8", errors="replace") as handle:
            if handle.readline().rstrip("\n") != first:
                raise PolyprobeError(f"{file} is no export of this format; {REMEDY}")
    write_whole(file, lambda part: part.write_text(text, encoding="utf-8", newline="\n"), REMEDY)
    return file


def as_yaml(value: object) -> str:
    """Return YAML as huggingface_hub writes it, with a first line that says whose it is."""
    return f"# {MARK}\n{yaml_dump(value, sort_keys=False)}"
