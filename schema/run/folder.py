"""The run on disk: settings, a file of scores for each language, results; and names of runs."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from polyprobe.schema.columns import COLUMNS, UNREADABLE, fingerprint
from polyprobe.schema.run.protocol import protocol_of
from polyprobe.schema.run.settings import DEFINITION, Settings
from polyprobe.schema.run.shapes import Content, find_wrong_results, find_wrong_value
from polyprobe.system.files import LOCK, hash_json, part_of, read_toml, write_text, write_whole
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.options import convert_value

# Where run.json and results.json have their own SHA-256, results.json that of the run.json that it
# was computed from, and run.json those of the files of scores.
SEAL, RUN_SEAL, FILES = "sha256", "run_sha256", "files"
EFFECTS = "position_effects"
PROMPT, N_PROMPT = "prompt_log_probability", "n_prompt_tokens"
# Nats between answers of one served model: more than rounding to 8 bits, less than any mistake.
AGREE = 0.3
GO_ON = "what was written before is kept: make room and run the same command again"


def _read_type(kind: Any) -> pa.DataType:
    if isinstance(kind, str):
        return pa.type_for_alias(kind)
    if isinstance(kind, list):
        return pa.list_(_read_type(kind[0]))
    return pa.struct({name: _read_type(part) for name, part in kind.items()})


SCORES, PREDICTIONS, _ANSWERS = (
    pa.schema(_read_type(columns)) for columns in read_toml(__package__, "columns.toml").values()
)
ANSWERS = pa.schema([*SCORES, *_ANSWERS])
# By the kind of a run.
SCHEMAS = {"scores": SCORES, "predictions": PREDICTIONS}
# Equal in every language.
COMMON = {"scores": ("fact_id", "relation", "answers"), "predictions": ("fact_id", "relation")}
_WEIGHTS = ("model", "base", "adapter", "quantize", "code")
# What belongs to a model: runs of one protocol differ in these. `bos` is that of its family.
OF_MODELS = {
    *(*_WEIGHTS, "revision", "tokenizer", "server", "handshake", "bos", "chat", "dtype", "device"),
    *("attention", "path", "product", "polyprobe", "torch", "transformers", "imported", "unknown"),
}
_MAIN = (
    *(*_WEIGHTS, "data", "languages", "rows", "relations", "exclude"),
    *("scoring", "chat", "shots", "dtype"),
)


def fill_columns(table: pa.Table, schema: pa.Schema = SCORES) -> pa.Table:
    """Give a table all columns of a schema, in its order; those that it lacks are null."""
    columns = [
        table[part.name] if part.name in table.column_names else pa.nulls(len(table), part.type)
        for part in schema
    ]
    return pa.table(columns, schema=schema)


class Run:
    """A run folder: run.json, scores/ or predictions/LANG.parquet, results.json, report.html."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = convert_value("the run folder", folder, Path)
        self._settings: Settings | None = None
        self._files: dict[str, str] = {}  # SHA-256 by language
        self.seal: str | None = None  # SHA-256 of run.json

    def open(self, settings: Settings) -> Settings:
        """Create or resume the run, see `join`."""
        settings = self.join(settings)
        self._write_settings()
        return settings

    def join(self, settings: Settings) -> Settings:
        """Find the settings of the run to create or resume, with the languages of both calls."""
        # the first finished language fixes the settings
        done = any(any(self.folder.glob(f"{kind}/*")) for kind in SCHEMAS)
        if done and (self.folder / "run.json").exists():
            settings = self._read_settings().resume(settings, self.folder)
        self._settings = settings
        return settings

    def _write_settings(self) -> None:
        settings = self.settings()
        files = {x: self._files[x] for x in settings.languages if x in self._files}
        value = {"definition": DEFINITION, **asdict(settings), "signature": settings.signature}
        self.seal = self.write_json("run.json", {**value, FILES: files})

    def settings(self) -> Settings:
        """Read the settings in run.json, once."""
        if self._settings is None:
            self._settings = self._read_settings()
        return self._settings

    def _read_settings(self) -> Settings:
        values = self.read_json("run.json", "evaluate into another --output; scores are cached")
        self.seal = hash_json(values)
        definition = values.pop("definition", 1)
        if definition != DEFINITION:
            raise PolyprobeError(
                f"{self.folder} has figures of definition {definition}, which cannot be compared "
                f"with those of {DEFINITION} (centred RankC); evaluate into another --output; "
                "scores are cached"
            )
        values.pop("signature", None)
        try:
            self._files = dict(values.pop(FILES))
            return Settings.from_json(values)
        except (KeyError, PolyprobeError, TypeError, ValueError) as error:
            raise PolyprobeError(f"{self.folder}/run.json is of another version: {error}") from None

    def before(self, model: str) -> Settings | None:
        """Find the settings of a run to resume with this model, else None."""
        with suppress(PolyprobeError):  # `open` raises it
            if (self.folder / "run.json").exists() and self.settings().model == model:
                return self.settings()
        return None

    def missing(self, languages: Iterable[str]) -> list[str]:
        """List the languages that have no scores or predictions yet."""
        return [language for language in languages if not self._file(language).exists()]

    def write(self, language: str, table: pa.Table) -> None:
        """Write a language's scores or predictions, whole or not at all; other columns are null."""
        buffer = pa.BufferOutputStream()
        schema = self._schema()
        pq.write_table(fill_columns(table, schema), buffer, write_page_checksum=True)
        content = buffer.getvalue()
        self._files[language] = hashlib.sha256(content).hexdigest()
        self._write_settings()  # first: a file that exists has its hash
        write_whole(self._file(language), lambda part: part.write_bytes(content), GO_ON)

    def read(self, language: str) -> pa.Table:
        """Read a language's scores or predictions, whose hash, columns and values are checked."""
        schema, file = self._schema(), self._file(language)
        remedy = "delete it and repeat the command of the run: the other languages are kept"
        try:
            content = file.read_bytes()
            if hashlib.sha256(content).hexdigest() != self._files.get(language):
                raise PolyprobeError(f"{file} was changed after it was written; {remedy}")
            # no threads: one that still runs at exit would abort the process
            table = pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)
        except FileNotFoundError:
            raise PolyprobeError(
                f"{file} is missing; repeat the command of the run to score '{language}'"
            ) from None
        except UNREADABLE as error:
            raise PolyprobeError(f"{file} is not readable Parquet ({error}); {remedy}") from error
        if not table.schema.equals(schema):
            columns = ", ".join(f"{column.name} ({column.type})" for column in schema)
            raise PolyprobeError(f"{file} has other columns than {columns}")
        if fault := find_wrong_value(table):
            raise PolyprobeError(f"{file}: language '{language}', {fault}; {remedy}")
        return table

    def write_results(self, results: dict[str, Any]) -> None:
        """Write results.json, computed from the files of this run."""
        self.settings()
        self.write_json("results.json", {**results, RUN_SEAL: self.seal})

    @property
    def remedy(self) -> str:
        """Explain how to make results.json: by the metrics, or first by the missing scores."""
        if missing := self.missing(self.settings().languages):
            return f"scores of {missing[0]!r} are missing: repeat the command of the run"
        return f"make it with `polyprobe metrics {self.folder}`"

    def read_results(self) -> dict[str, Any]:
        """Read results.json, which must be of these scores."""
        remedy = self.remedy
        if not (self.folder / "results.json").exists():
            raise PolyprobeError(f"{self.folder} has no results.json; {remedy}")
        results, file = self.read_json("results.json", remedy), self.folder / "results.json"
        if results.pop(RUN_SEAL, None) != self.seal:
            raise PolyprobeError(f"{file} was computed from another state of the run; {remedy}")
        if fault := find_wrong_results(results, self.settings().languages):
            raise PolyprobeError(f"{file}: {fault}; {remedy}")
        return Content(results, f"{file}:", remedy)

    def write_json(self, name: str, value: dict[str, Any]) -> str:
        """Write a JSON file, whole or not at all, and return its SHA-256."""
        seal = hash_json(value)
        text = json.dumps({**value, SEAL: seal}, indent=2, ensure_ascii=False, allow_nan=False)
        write_text(self.folder / name, f"{text}\n", GO_ON)
        return seal

    def read_json(self, name: str, remedy: str) -> dict[str, Any]:
        """Read a JSON file of the run without its checksum, which must agree."""
        file = self.folder / name
        try:
            value = json.loads(file.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            raise PolyprobeError(f"{self.folder} is not a run folder: it has no {name}") from None
        except OSError as error:
            raise PolyprobeError(f"cannot read {file}: {error.strerror}") from error
        except (RecursionError, ValueError) as error:
            raise PolyprobeError(f"{file} is not readable JSON: {error}; {remedy}") from error
        if not isinstance(value, dict):
            raise PolyprobeError(f"{file} holds {type(value).__name__}, expected a JSON object")
        if value.pop(SEAL, None) != hash_json(value):
            raise PolyprobeError(f"{file} was changed after it was written; {remedy}")
        return value

    def _schema(self) -> pa.Schema:
        settings = self.settings()
        return ANSWERS if protocol_of(settings.scoring).answers else SCHEMAS[settings.kind]

    def _file(self, language: str) -> Path:
        return self.folder / self.settings().kind / f"{language}.parquet"

    def check_free(self) -> None:
        """Refuse a folder of something else; a killed start leaves a part file and a lock."""
        try:
            names = {file.name for file in self.folder.iterdir()}
        except FileNotFoundError:
            return
        except OSError as error:
            raise PolyprobeError(
                f"{self.folder} cannot be a run folder: {error.strerror}; choose another --output"
            ) from error
        if "run.json" not in names and names - {part_of(Path("run.json")).name, LOCK}:
            raise PolyprobeError(
                f"{self.folder} is not empty and holds no run.json; choose another --output"
            )


class FinishedRun(NamedTuple):
    """A run with its results, and the rows that it was asked where they are loaded already."""

    run: Run
    results: dict[str, Any]
    texts: Mapping[str, pa.Table] | None = None


def read_run_tables(run: Run) -> dict[str, pa.Table]:
    """Read a run's scores or predictions by language, the same facts in all of them."""
    settings = run.settings()
    tables: dict[str, pa.Table] = {}
    first = settings.languages[0]
    for language in settings.languages:
        table = run.read(language)
        for column in COMMON[settings.kind]:
            common = tables.get(first, table)[column]
            if table[column] != common:
                raise PolyprobeError(
                    f"{run.folder}/{settings.kind}/{language}.parquet has other facts than "
                    f"{settings.kind}/{first}.parquet ({column} differs); delete it and repeat "
                    "the command of the run"
                )
            place = table.schema.get_field_index(column)  # one copy in memory
            table = table.set_column(place, column, common)
        tables[language] = table
    return tables


def load_again(settings: Settings, languages: Sequence[str]) -> dict[str, pa.Table]:
    """Read the splits that a run has scored; refuse a dataset that has changed since."""
    # imports datasets, which takes seconds
    from polyprobe.schema.load import IN_MEMORY, read_splits

    if settings.dataset == IN_MEMORY:
        raise PolyprobeError("the run's dataset was in memory, so it cannot be read again")
    also = protocol_of(settings.scoring).columns
    tables = read_splits(settings.dataset, settings.config, languages)
    for language, table in tables.items():
        complete = {*COLUMNS} <= {*table.column_names}  # equal rows were checked before the run
        if not complete or fingerprint(table, also) != settings.fingerprint[language]:
            raise PolyprobeError(
                f"'{language}' of {settings.data_name} has changed since the run was made; repeat "
                "the run, or restore the dataset"
            )
    return tables


def name_runs(runs: Sequence[Run]) -> list[str]:
    """Give each run a unique name: that of model and adapter, if needed with a folder or number."""
    if not runs:
        raise PolyprobeError("no run given; name at least one run folder")
    full = []
    for settings in (run.settings() for run in runs):
        adapter = settings.further.get("adapter", "").partition("@")[0].rpartition("/")[2]
        full.append(settings.model_name + (f" + {adapter}" if adapter else ""))
    names = [name.partition("/")[2] if name.count("/") == 1 else name for name in full]
    names = full if len({*names}) < len({*full}) else names
    # as many last parts of each path as tell different folders apart
    paths, depth = [run.folder.resolve() for run in runs], 0
    folders: list[str] = []
    while len({*folders}) < len({*paths}):
        depth += 1
        folders = ["/".join(path.parts[-depth:]).lstrip("/") for path in paths]
    often = Counter(names)
    labels = [
        name if often[name] == 1 else f"{name} ({folder})"
        for name, folder in zip(names, folders, strict=True)
    ]
    return [
        name if labels.count(name) == 1 else f"{name} {labels[: i + 1].count(name)}"
        for i, name in enumerate(labels)
    ]


def compare_settings(settings: Sequence[Settings]) -> dict[str, list[str]]:
    """List the parts of the signature that differ, with their value in each run."""
    columns = [
        {**split_signature(run.signature), "model": run.model_name, "revision": revision}
        for run, revision in zip(settings, _list_revisions(settings), strict=True)
    ]
    names = dict.fromkeys(name for column in columns for name in column)
    parts = {name: [column.get(name, "–") for column in columns] for name in names}
    prints = [run.fingerprint for run in settings]
    common = [x for x in prints[0] if all(x in languages for languages in prints)]
    rare = [[x for x in run if x not in common] for run in prints]
    parts["other languages"] = [", ".join(x[:4] + ["…"] * (len(x) > 4)) or "none" for x in rare]
    del parts["languages"]
    changed = [x for x in common if len({languages[x] for languages in prints}) > 1]
    if len({*parts["data"]}) == 1:
        parts |= {f"rows of {x}": [languages[x][:6] for languages in prints] for x in changed}
    return {name: values for name, values in parts.items() if len({*values}) > 1}


def _list_revisions(settings: Sequence[Settings]) -> list[str]:
    """List the revisions; that of a served model has a number, by probes that agree."""
    revisions: list[str] = []
    for place, run in enumerate(settings):
        pairs = zip(settings[:place], revisions, strict=True)
        same = (label for earlier, label in pairs if _have_one_probe(earlier, run))
        revision = run.revision[:14]
        namesakes = [label for label in revisions if label.startswith(revision)]
        number = f" ({len({*namesakes}) + 1})" if namesakes and run.probe else ""
        revisions.append(next(same, revision + number))
    return revisions


def _have_one_probe(first: Settings, second: Settings) -> bool:
    if not first.probe or len(first.probe) != len(second.probe):
        return False
    pairs = zip(first.probe, second.probe, strict=True)
    return max(abs(a - b) for a, b in pairs) <= AGREE


def describe_differing(runs: Sequence[Run]) -> str:
    """Describe the differing settings in a line, such as `differ in: dtype float32 / bfloat16`."""
    differing = compare_settings([run.settings() for run in runs])
    parts = [f"{name} {' / '.join(values)}" for name, values in differing.items()]
    return f"differ in: {'; '.join(parts)}" if parts else "equal settings"


def split_signature(signature: str) -> dict[str, str]:
    """Split a signature into its parts by name."""
    return dict(part.partition(":")[::2] for part in signature.split("|"))


def shorten_signature(signature: str) -> str:
    """Shorten a signature to a hash and its main parts.

    >>> shorten_signature("model:geolm@r1|data:geofacts/default|languages:en@1+fr@2|dtype:float32")
    '83915a21: model geolm@r1, data geofacts/default, languages 2, dtype float32'
    """
    parts = split_signature(signature)
    if "languages" in parts:
        parts["languages"] = str(parts["languages"].count("+") + 1)
    summary = ", ".join(f"{name} {parts[name]}" for name in _MAIN if name in parts)
    return f"{hashlib.sha256(signature.encode()).hexdigest()[:8]}: {summary}"
