"""The input of exports, a run's settings, figures and names; its figures as CSV and LaTeX."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from huggingface_hub.utils import yaml_dump

from polyprobe.analysis.figures import results as reader
from polyprobe.publish.hub import check_repository_name
from polyprobe.report.finding import Column, Table
from polyprobe.report.show import to_csv
from polyprobe.schema.columns import SECOND_ANSWERS
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.rows import ALL_ROWS, describe_choice, make_choice
from polyprobe.schema.run.settings import Settings
from polyprobe.system.files import hash_json, is_hash, write_text
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.text import clean

MANY = 10  # more languages than this are counted, not listed
MARK = "made by `polyprobe export`"
REMEDY = "nothing was exported: choose another --output"


class Exported(NamedTuple):
    """A run to be exported."""

    folder: Path  # of the run
    settings: Settings
    results: Mapping[str, Any]  # content of results.json
    rows: list[reader.FigureRow]  # figures of all rows
    of_relations: list[reader.FigureRow]
    options: dict[str, str]  # those of the figures that are not the default
    dataset_id: str | None  # OWNER/NAME on the Hub; None for a folder without a name there
    config: str  # `default` for a dataset in memory
    scored: datetime  # time of the last scores, in UTC, by the file system's clock
    part: str | None  # the choice of rows in words; None for all rows that have one right answer
    selection: str  # languages and rows in words

    @property
    def dataset_name(self) -> str:
        """The name on the Hub, else the last part of the dataset's folder."""
        return self.dataset_id or self.settings.data_name.rpartition("/")[0]

    @property
    def model_id(self) -> str | None:
        """The model's name on the Hub; None for a model in a folder."""
        return None if is_hash(self.settings.revision) else self.settings.model

    @property
    def listed_options(self) -> list[str]:
        """The options as `weights:norm1`."""
        return [f"{name}:{value}" for name, value in self.options.items()]

    @property
    def signature(self) -> str:
        """The run's signature, in which many languages become a number and a hash."""
        # For 53 languages it has 800 characters, too many for every row of a table.
        parts = self.settings.signature.split("|")
        if len(self.settings.languages) > MANY:
            hashes = dict(sorted(self.settings.fingerprint.items()))
            short = f"{len(self.settings.languages)}@{hash_json(hashes)[:12]}"
            parts = [f"languages:{short}" if x.startswith("languages:") else x for x in parts]
        return "|".join([*parts, *self.listed_options])

    def no_figure(self) -> PolyprobeError:
        """Make the error for results without a defined figure."""
        return PolyprobeError(f"{self.folder}/results.json has no defined figure; {REMEDY}")


def read_exported(folder: Path, dataset_id: str | None) -> Exported:
    """Read a run folder for export; refuse missing, outdated or damaged results."""
    run = Run(folder)
    settings, results = run.settings(), reader.read_results(run)
    if subset := results.get("subset"):
        raise PolyprobeError(
            f"{folder}/results.json is of a part of the scored rows "
            f"({describe_choice(make_choice(**subset))}), exports are of all; {run.remedy}"
        )
    options = {
        name: "+".join(value) if isinstance(value, list) else str(value)
        for name, value in results.get("options", {}).items()
    }
    on_hub = settings.dataset.count("/") == 1 and not Path(settings.dataset).is_absolute()
    name = dataset_id or (settings.dataset if on_hub else None)
    if name:
        check_repository_name(name)
    files = [*folder.glob("scores/*.parquet"), *folder.glob("predictions/*.parquet")]
    newest = max(file.stat().st_mtime for file in files or [folder / "run.json"])
    rows = reader.list_rows_of_run(results), reader.list_rows_of_relations(results)
    described = _describe_rows(settings, results["n_queries"])
    scored, config = datetime.fromtimestamp(newest, UTC), settings.config or "default"
    return Exported(folder, settings, results, *rows, options, name, config, scored, *described)


def _describe_rows(settings: Settings, n_queries: int) -> tuple[str | None, str]:
    """Describe `part` and `selection` of a run."""
    parts = []
    if n_queries >= (settings.sample or settings.limit or 0):
        parts += [f"a sample of {settings.sample} rows"] if settings.sample else []
        parts += [f"the first {settings.limit} rows"] if settings.limit else []
    choice = make_choice(settings.relations, settings.exclude)
    if parts or choice not in (ALL_ROWS, make_choice(None, [SECOND_ANSWERS])):
        parts += filter(None, [describe_choice(choice)])
    names, n = settings.languages, len(settings.languages)
    languages = f"{n} languages" if n > MANY else ", ".join(names)
    if part := "; ".join(parts):
        return part, f"{languages}; partial: {part}"
    counts = (f" but {n:,} with {name}" for name, n in settings.left_out.items())
    return None, f"{languages}; all rows{''.join(counts)}"


def write_export(file: Path, text: str) -> Path:
    """Write a file; another one there is replaced only if it begins with the same line."""
    first = text.splitlines()[0]
    if file.is_file() and file.stat().st_size:
        with file.open(encoding="utf-8", errors="replace") as handle:
            if handle.readline().rstrip("\n") != first:
                raise PolyprobeError(f"{file} is not an export of this format; {REMEDY}")
    write_text(file, text, REMEDY)
    return file


def as_yaml(value: object) -> str:
    """Write YAML as huggingface_hub writes it, below a line that marks an export."""
    return f"# {MARK}\n{yaml_dump(value, sort_keys=False)}"


def write_figures(exported: Exported, output: Path | None) -> Path:
    """Write `results.csv`: one row for each figure and language or pair, as in `FigureRow`."""
    # Numbers have all digits, so that reading gives the same floats; undefined values are empty.
    # The signature lets a reader concatenate tables of several runs.
    columns = [Column(name) for name in (*reader.FigureRow._fields, "signature")]
    signature = exported.signature  # takes 10 ms
    rows = [[*row, signature] for row in (*exported.rows, *exported.of_relations)]
    text = to_csv(Table(columns, rows))
    return write_export(output or exported.folder / "results.csv", text)


def write_latex(exported: Exported, output: Path | None, peers: Sequence[Exported] = ()) -> Path:
    """Write `table.tex`: the table of `polyprobe board`, here also of a single run."""
    # these imports take a second, and CSV does without
    from polyprobe.analysis.board.board import make_board
    from polyprobe.report.findings.board import write_models

    runs = [exported, *peers]
    for run in runs:
        if all(row.value is None for row in run.rows):
            raise run.no_figure()
    board = make_board([run.folder for run in runs])
    signatures = ("|".join([run.settings.signature, *run.listed_options]) for run in runs)
    table = write_models(board, ".tex", f"{exported.dataset_name}/{exported.config}")
    head = [f"% {MARK}", *(clean(f"% {x}") for x in signatures)]
    return write_export(output or exported.folder / "table.tex", "\n".join([*head, table]))
