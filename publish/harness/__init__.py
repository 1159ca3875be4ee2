"""Export a dataset as tasks of evaluation harnesses: files that run there unchanged."""

from collections.abc import Container, Sequence
from functools import partial
from pathlib import Path

from polyprobe.system.files import write_text, write_whole
from polyprobe.system.messages import PolyprobeError

# Functions of `tasks`, which return {file name: text} for a configuration.
HARNESSES = {"lm-eval": "render_lm_eval", "lighteval": "render_lighteval"}
SCORINGS = ("bmlama", "object")
EXPORTED = ("polyprobe_", "_polyprobe_", "__pycache__")


def export_dataset(
    folder: Path,
    harness: str,
    output: Path,
    config: str | None = None,
    languages: Sequence[str] | None = None,
    dataset_id: str | None = None,
    scoring: str = "bmlama",
) -> list[Path]:
    """Write a configuration of a dataset as tasks of a harness, and return the files."""
    # Tasks of an earlier export to `output` are replaced; a folder with other files is refused.
    # With `dataset_id` the tasks load the rows from the Hub, else from the Parquet files; the rows
    # of `folder` are checked in both cases. The rows about other subjects, which `polyprobe eval`
    # asks too, are written as Parquet files, and are a second task.
    import pyarrow.parquet as pq

    from . import tasks  # takes seconds, and the command line reads the names above

    configuration = tasks.read_configuration(folder, config, languages, dataset_id, scoring)
    donors = configuration.ask_donors(output)
    texts = getattr(tasks, HARNESSES[harness])(configuration, donors)
    if output.exists() and not output.is_dir():
        raise PolyprobeError(f"{output} is a file; give a folder with --output")
    names = {path.name for path in output.glob("*")}
    # A killed export leaves a hidden part of a task.
    if strangers := {x for x in names if not x.removeprefix(".").startswith(EXPORTED)}:
        raise PolyprobeError(
            f"{output} holds {min(strangers)}, which is not an exported task; "
            "give a new folder with --output"
        )
    if donors:
        for table, [file] in zip(donors.tables.values(), donors.files.values(), strict=True):
            write_whole(Path(file), partial(pq.write_table, table), "repeat the command")
    for name, text in texts.items():
        write_text(output / name, text)
    if harness == "lm-eval":
        for part in (configuration, configuration._replace(donor=True)):
            remove_stale(output, part.stem, texts)
    return [output / name for name in texts]


def remove_stale(output: Path, stem: str, texts: Container[str]) -> None:
    """Remove the files of a group of lm-eval that only an earlier export had."""
    # Its tasks include the file that those of the group share.
    shared, tasks = output / f"_{stem}_yaml", output.glob("polyprobe_*.yaml")
    members = [x for x in tasks if f"include: {shared.name}\n" in x.read_text("utf-8")]
    for path in (shared, output / f"{stem}.yaml", *members):
        if path.name not in texts:
            path.unlink(missing_ok=True)
