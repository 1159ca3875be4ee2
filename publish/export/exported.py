"""The input of exports: a run's settings and figures, and the dataset's name on the Hub."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from huggingface_hub import DatasetCard, try_to_load_from_cache
from huggingface_hub.utils import yaml_dump

from polyprobe.eval.run.folder import Run, Settings
from polyprobe.publish.names import check_dataset_id
from polyprobe.schema.load import locate
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.files import write_whole
from polyprobe.system.hashing import is_hash

from .rows import Row, list_rows

MANY = 10  # more languages than this are counted, not listed


class Exported(NamedTuple):
    """A run to be exported.

    Attributes:
        folder: of the run.
        settings: content of run.json.
        results: content of results.json.
        rows: its figures.
        dataset_id: OWNER/NAME on the Hub; None for a folder without a given name.
        config: name of the configuration, also if the run took the default.
        scored: time of the last scores, in UTC, by the file system's clock.
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
        """Return the model's name on the Hub; None for a model in a folder."""
        return None if is_hash(self.settings.revision) else self.settings.model

    @property
    def signature(self) -> str:
        """Return the run's signature; many languages are shortened to a number and a hash.

        For 53 languages the signature has 800 characters, too many for every row of a table.
        """
        parts = self.settings.signature.split("|")
        if len(self.settings.languages) > MANY:
            hashes = json.dumps(self.settings.fingerprint, sort_keys=True).encode()
            short = f"{len(self.settings.languages)}@{hashlib.sha256(hashes).hexdigest()[:12]}"
            parts = [f"languages:{short}" if x.startswith("languages:") else x for x in parts]
        return "|".join(parts)

    @property
    def asked(self) -> str:
        """Return the rows and languages of the figures, in words."""
        settings, names = self.settings, ", ".join(self.settings.languages)
        if len(settings.languages) > MANY:
            names = f"{len(settings.languages)} languages"
        return f"{names}; partial: {self.part}" if self.part else f"{names}; all rows"

    @property
    def part(self) -> str | None:
        """Return the choice of rows in words; None for all rows of the dataset."""
        if self.results["n_queries"] < (self.settings.sample or self.settings.limit or 0):
            return None
        if self.settings.sample:
            return f"a sample of {self.settings.sample} rows"
        return f"the first {self.settings.limit} rows" if self.settings.limit else None


def read_exported(folder: Path, dataset_id: str | None) -> Exported:
    """Read a run folder for export.

    Raises:
        PolyprobeError: not a run folder, missing or outdated results, a damaged file, or an invalid
            dataset name.
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
    """Return the dataset's name on the Hub: the given one, else the run's own."""
    own = None if Path(dataset).is_absolute() or dataset.count("/") != 1 else dataset
    name = given or own
    return check_dataset_id(name) if name else None


def find_config(settings: Settings) -> str:
    """Return the run's configuration, from the dataset's card if it named none.

    Without a card (a dataset on the Hub that is no longer cached) return `default`.
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
    """Return results.json, which must have all languages of run.json."""
    if not (run.folder / "results.json").exists():
        raise PolyprobeError(f"{run.folder} has no results.json; {_remedy(run)}")
    results = run.read_json("results.json")
    if results.get("signature") != settings.signature:
        raise PolyprobeError(f"{run.folder}/results.json does not match run.json; {_remedy(run)}")
    return results


def _remedy(run: Run) -> str:
    """Return how to make results.json: by the metrics, or first by the missing scores."""
    settings = run.settings()
    missing = run.missing(settings.languages, settings.kind)
    if missing:
        return f"scores of {missing[0]!r} are missing: run the same `polyprobe eval` again"
    return f"make it with `polyprobe metrics {run.folder}`"


def _last_scored(run: Run) -> datetime:
    files = [*run.folder.glob("scores/*.parquet"), *run.folder.glob("predictions/*.parquet")]
    newest = max(file.stat().st_mtime for file in files or [run.folder / "run.json"])
    return datetime.fromtimestamp(newest, UTC)


MARK = "made by `polyprobe export`"
REMEDY = "nothing was exported: choose another --output"


def write_export(file: Path, text: str) -> Path:
    """Write an exported file and return its path.

    An existing file is replaced if it begins with the same line, as an older export does.

    Raises:
        PolyprobeError: another file exists there, or it cannot be written.
    """
    first = text.splitlines()[0]
    if file.is_file() and file.stat().st_size:
        with file.open(encoding="utf-8", errors="replace") as handle:
            if handle.readline().rstrip("\n") != first:
                raise PolyprobeError(f"{file} is not an export of this format; {REMEDY}")
    write_whole(file, lambda part: part.write_text(text, encoding="utf-8", newline="\n"), REMEDY)
    return file


def as_yaml(value: object) -> str:
    """Return YAML as huggingface_hub writes it, below a line that marks an export."""
    return f"# {MARK}\n{yaml_dump(value, sort_keys=False)}"
