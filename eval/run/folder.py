"""The run on disk: what was asked, and the scores a language, written whole or not at all."""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from polyprobe.system.errors import PolyprobeError
from polyprobe.system.files import LOCK, part_of, write_whole

from .settings import Settings

GO_ON = "what was written before is kept: make room and run the same command again"
SCORES = pa.schema(
    [
        ("fact_id", pa.string()),
        ("relation", pa.string()),
        ("answers", pa.list_(pa.int32())),
        ("scores", pa.list_(pa.float32())),
        ("n_tokens", pa.list_(pa.int32())),
    ]
)
# What a model wrote freely; a fact that was not asked has nulls from `prediction` on.
PREDICTIONS = pa.schema(
    [
        ("fact_id", pa.string()),
        ("relation", pa.string()),
        ("prompt", pa.string()),
        ("answer_forms", pa.list_(pa.string())),
        ("prediction", pa.string()),
        ("n_masks", pa.int32()),
        ("log_probability", pa.float32()),
        ("single_token", pa.bool_()),
    ]
)


class Run:
    """A run folder: run.json, scores/ or predictions/LANG.parquet, results.json, report.html."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def open(self, settings: Settings) -> None:
        """Make the folder, or go on in it with the languages of both once one of them is done.

        Raises:
            PolyprobeError: the folder holds another run, or something that is no run.
        """
        if not self._is_free() and self._has_work():
            settings = self._join(self.settings(), settings)
        self.write_json("run.json", {**asdict(settings), "signature": settings.signature})

    def settings(self) -> Settings:
        """Return what run.json says."""
        values = self.read_json("run.json")
        values.pop("signature", None)
        try:
            settings = Settings(**values)
            if not settings.languages or not all(
                isinstance(text, str) for text in (settings.model, settings.scoring)
            ):
                raise TypeError("languages, model and scoring are needed")
            if set(settings.languages) != set(settings.fingerprint):
                raise TypeError("languages and fingerprint do not agree")
        except TypeError as error:
            raise PolyprobeError(f"{self.folder}/run.json is of another version: {error}") from None
        return settings

    def budget(self, model: str) -> int | None:
        """Return the token budget that this model's run was begun with, None before it was."""
        try:
            settings = self.settings()
        except PolyprobeError:  # `open` says what is wrong with it
            return None
        return settings.batch_tokens if settings.model == model else None

    def missing(self, languages: Iterable[str], kind: str = "scores") -> list[str]:
        """Return the languages that have no scores yet, or no `predictions`."""
        return [language for language in languages if not self._file(kind, language).exists()]

    def write_scores(self, language: str, table: pa.Table) -> None:
        """Write one language's scores, whole or not at all."""
        self._write("scores", language, table)

    def write_predictions(self, language: str, table: pa.Table) -> None:
        """Write what a model wrote freely in one language, whole or not at all."""
        self._write("predictions", language, table)

    def scores(self, language: str) -> pa.Table:
        """Return one language's scores; a file that cannot be read is a PolyprobeError."""
        return self._read("scores", language, SCORES)

    def predictions(self, language: str) -> pa.Table:
        """Return one language's predictions; a file that cannot be read is a PolyprobeError."""
        return self._read("predictions", language, PREDICTIONS)

    def _write(self, kind: str, language: str, table: pa.Table) -> None:
        file = self._file(kind, language)
        write_whole(file, lambda part: pq.write_table(table, part), GO_ON)

    def _read(self, kind: str, language: str, schema: pa.Schema) -> pa.Table:
        file = self._file(kind, language)
        try:
            table = pq.read_table(file)
        except FileNotFoundError:
            raise PolyprobeError(
                f"{file} is missing; run the same `polyprobe eval` again to score '{language}'"
            ) from None
        except (pa.ArrowInvalid, OSError) as error:
            raise PolyprobeError(
                f"{file} is not readable Parquet ({error}); delete it and run the same "
                "`polyprobe eval` again: the other languages are kept"
            ) from error
        if not table.schema.equals(schema):
            columns = ", ".join(f"{column.name} ({column.type})" for column in schema)
            raise PolyprobeError(f"{file} has other columns than {columns}")
        return table

    def write_json(self, name: str, value: dict[str, Any]) -> None:
        """Write a JSON file, whole or not at all."""
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        write_whole(self.folder / name, lambda part: part.write_text(text, encoding="utf-8"), GO_ON)

    def read_json(self, name: str) -> dict[str, Any]:
        """Return a JSON file of the run."""
        file = self.folder / name
        try:
            value = json.loads(file.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            raise PolyprobeError(f"{self.folder} is no run: it has no {name}") from None
        except OSError as error:
            raise PolyprobeError(f"cannot read {file}: {error.strerror}") from error
        except ValueError as error:
            raise PolyprobeError(f"{file} is not readable JSON: {error}") from error
        if not isinstance(value, dict):
            raise PolyprobeError(f"{file} holds {type(value).__name__}, expected a JSON object")
        return value

    def _file(self, kind: str, language: str) -> Path:
        return self.folder / kind / f"{language}.parquet"

    def _has_work(self) -> bool:
        """Return whether any language is done: only then are the settings fixed."""
        return any(self.folder.glob("scores/*")) or any(self.folder.glob("predictions/*"))

    def _is_free(self) -> bool:
        """Return whether a run may begin here; a killed start leaves a lock and a part file."""
        try:
            names = {file.name for file in self.folder.iterdir()}
        except FileNotFoundError:
            return True
        except OSError as error:
            raise PolyprobeError(
                f"{self.folder} cannot be a run folder: {error.strerror}; choose another --output"
            ) from error
        if "run.json" not in names and names - {part_of(Path("run.json")).name, LOCK}:
            raise PolyprobeError(
                f"{self.folder} is not empty and holds no run.json; choose another --output"
            )
        return "run.json" not in names

    def _join(self, old: Settings, new: Settings) -> Settings:
        """Return the run's settings with new languages added; all else must be as it was."""
        languages = list(dict.fromkeys([*old.languages, *new.languages]))
        known = {**new.fingerprint, **old.fingerprint}
        joined = {language: known[language] for language in languages}
        widened = replace(new, languages=languages, fingerprint=joined)
        before = replace(
            old, languages=languages, fingerprint=joined, batch_tokens=new.batch_tokens
        )
        for name, was in asdict(before).items():
            now = asdict(widened)[name]
            if now != was:
                raise PolyprobeError(
                    f"{self.folder} holds another run ({name}: {was!r}, asked for {now!r}); "
                    "choose another --output"
                )
        changed = [x for x in new.languages if joined[x] != new.fingerprint[x]]
        if changed:
            raise PolyprobeError(
                f"{self.folder} was scored on other data: the split '{changed[0]}' has changed "
                "since; choose another --output"
            )
        return widened


def read_aligned(run: Run) -> dict[str, pa.Table]:
    """Return a run's scores or predictions by language, the same facts in all of them.

    Raises:
        PolyprobeError: a file that cannot be read, or one with other facts or answers.
    """
    settings = run.settings()
    read, same = KINDS[settings.kind]
    tables = {language: read(run, language) for language in settings.languages}
    first, *others = tables
    for language in others:
        for column in same:
            if tables[language][column] != tables[first][column]:
                raise PolyprobeError(
                    f"{run.folder}/{settings.kind}/{language}.parquet has other facts than "
                    f"{settings.kind}/{first}.parquet ({column} differs); delete it and run the "
                    "same `polyprobe eval` again"
                )
    return tables


# What a run holds: how a language is read, and the columns that are the same in every language.
KINDS: dict[str, tuple[Callable[[Run, str], pa.Table], tuple[str, ...]]] = {
    "scores": (Run.scores, ("fact_id", "answers")),
    "predictions": (Run.predictions, ("fact_id",)),
}
