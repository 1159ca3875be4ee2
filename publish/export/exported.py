"""The input of exports: a run's settings and figures, and the dataset's name on the Hub."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from huggingface_hub import DatasetCard, try_to_load_from_cache
from huggingface_hub.utils import yaml_dump

from polyprobe.analysis.figures.results import (
    MEAN,
    FigureRow,
    list_rows_of_relations,
    list_rows_of_run,
)
from polyprobe.metrics.shared.rows import mean_known
from polyprobe.publish.hub import check_repository_name
from polyprobe.schema.columns import SECOND_ANSWERS
from polyprobe.schema.locate import locate
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.rows import ALL_ROWS, describe_choice, make_choice
from polyprobe.schema.run.settings import Settings
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.files import write_text
from polyprobe.system.hashing import is_hash

MANY = 10  # more languages than this are counted, not listed
MARK = "made by `polyprobe export`"
REMEDY = "nothing was exported: choose another --output"


class Exported(NamedTuple):
    """A run to be exported: its folder, the contents of run.json and results.json, its figures.

    `dataset_id` is OWNER/NAME on the Hub, None for a folder without a given name; `config` is the
    name of the configuration, also if the run took the default; `scored` is the time of the last
    scores, in UTC, by the file system's clock; `of_relations` are the figures of each relation.
    """

    folder: Path
    settings: Settings
    results: Mapping[str, Any]
    rows: list[FigureRow]
    dataset_id: str | None
    config: str
    scored: datetime
    of_relations: list[FigureRow]

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
        return "|".join([*parts, *self.listed_options])

    @property
    def options(self) -> dict[str, str]:
        """Return the options of the figures that are not the default."""
        given = self.results.get("options", {})
        return {k: "+".join(x) if isinstance(x, list) else str(x) for k, x in given.items()}

    @property
    def listed_options(self) -> list[str]:
        """Return the same as `weights:norm1`."""
        return [f"{name}:{value}" for name, value in self.options.items()]

    @property
    def asked(self) -> str:
        """Return the rows and languages of the figures, in words."""
        settings, names = self.settings, ", ".join(self.settings.languages)
        if len(settings.languages) > MANY:
            names = f"{len(settings.languages)} languages"
        if self.part:
            return f"{names}; partial: {self.part}"
        counts = (f"{n:,} with {name}" for name, n in settings.left_out.items())
        return f"{names}; all rows" + "".join(f" but {count}" for count in counts)

    @property
    def part(self) -> str | None:
        """Return the choice of rows in words; None for all rows that have one right answer."""
        settings, parts = self.settings, []
        if self.results["n_queries"] >= (settings.sample or settings.limit or 0):
            if settings.sample:
                parts.append(f"a sample of {settings.sample} rows")
            elif settings.limit:
                parts.append(f"the first {settings.limit} rows")
        choice = make_choice(settings.relations, settings.exclude)
        if parts or choice not in (ALL_ROWS, make_choice(None, [SECOND_ANSWERS])):
            parts += filter(None, [describe_choice(choice)])
        return "; ".join(parts) or None

    def no_figure(self) -> PolyprobeError:
        """Return the error for results without a defined figure."""
        return PolyprobeError(f"{self.folder}/results.json has no defined figure; {REMEDY}")


def read_exported(folder: Path, dataset_id: str | None) -> Exported:
    """Read a run folder for export; refuse missing, outdated or damaged results."""
    run = Run(folder)
    settings = run.settings()
    results = _read_results(run)
    try:
        rows = check_rows(list_rows_of_run(results))
        of_relations = check_rows(list_rows_of_relations(results))
    except PolyprobeError as error:
        raise PolyprobeError(f"{folder}/{error}; {run.remedy}") from None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise PolyprobeError(f"{folder}/results.json has no figures; {run.remedy}") from error
    own = settings.dataset.count("/") == 1 and not Path(settings.dataset).is_absolute()
    name = dataset_id or (settings.dataset if own else None)
    if name:
        check_repository_name(name)
    files = [*folder.glob("scores/*.parquet"), *folder.glob("predictions/*.parquet")]
    newest = max(file.stat().st_mtime for file in files or [folder / "run.json"])
    scored = datetime.fromtimestamp(newest, UTC)
    config = find_config(settings)
    return Exported(folder, settings, results, rows, name, config, scored, of_relations)


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


def _read_results(run: Run) -> dict[str, Any]:
    """Return results.json, which must be of all scored rows."""
    results = run.read_results()
    if subset := results.get("subset"):
        raise PolyprobeError(
            f"{run.folder}/results.json is of a part of the scored rows "
            f"({describe_choice(make_choice(**subset))}), exports are of all; {run.remedy}"
        )
    return results


def write_export(file: Path, text: str) -> Path:
    """Write an exported file and return its path.

    An existing file is replaced only if it begins with the same line, as an older export does.
    """
    first = text.splitlines()[0]
    if file.is_file() and file.stat().st_size:
        with file.open(encoding="utf-8", errors="replace") as handle:
            if handle.readline().rstrip("\n") != first:
                raise PolyprobeError(f"{file} is not an export of this format; {REMEDY}")
    write_text(file, text, REMEDY)
    return file


def as_yaml(value: object) -> str:
    """Return YAML as huggingface_hub writes it, below a line that marks an export."""
    return f"# {MARK}\n{yaml_dump(value, sort_keys=False)}"


def check_rows(rows: list[FigureRow]) -> list[FigureRow]:
    """Return the rows; refuse values that are not finite numbers."""
    for row in rows:
        for value in row[3:-1]:
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if value is not None and not (number and math.isfinite(value)):
                place = filter(None, (row.relation, row.language, row.other_language))
                raise PolyprobeError(
                    f"results.json has {value!r} in {row.figure} of {' '.join(place)}"
                )
    return rows


def mean_with_others(rows: Sequence[FigureRow], figure: str, language: str) -> float | None:
    """Return a language's mean over its pairs, None if all are undefined.

    For a figure by language, return that language's value.
    """
    of_figure = [row for row in rows if row.figure == figure]
    return mean_known(x.value for x in of_figure if language in (x.language, x.other_language))


def find_mean(rows: Sequence[FigureRow], figure: str) -> FigureRow | None:
    """Return the row of a figure's mean; None if missing or undefined."""
    found = (row for row in rows if (row.figure, row.language) == (figure, MEAN))
    return next((row for row in found if row.value is not None), None)
