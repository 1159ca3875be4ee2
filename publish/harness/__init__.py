"""Export a dataset as tasks of evaluation harnesses: files that run there unchanged."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from polyprobe.system.files import write_text
from polyprobe.system.messages import PolyprobeError

# Modules and functions, which return {file name: text} for a configuration. They are
# imported when needed, because the command line reads the names.
HARNESSES = {"lm-eval": "lm_eval.render_lm_eval", "lighteval": "lighteval.render_lighteval"}
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
    # of `folder` are checked in both cases.
    from .configuration import read_configuration

    module, _, function = HARNESSES[harness].partition(".")
    render = getattr(import_module(f".{module}", __name__), function)
    configuration = read_configuration(folder, config, languages, dataset_id)
    texts = render(configuration._replace(scoring=scoring))
    if output.exists() and not output.is_dir():
        raise PolyprobeError(f"{output} is a file; give a folder with --output")
    names = {path.name for path in output.glob("*")}
    # A killed export leaves a hidden part of a task.
    if strangers := {x for x in names if not x.removeprefix(".").startswith(EXPORTED)}:
        raise PolyprobeError(
            f"{output} holds {min(strangers)}, which is not an exported task; "
            "give a new folder with --output"
        )
    for name, text in texts.items():
        write_text(output / name, text)
    # Languages that only an earlier export had: their tasks include the file that those of the
    # group share, the only name that begins with `_`.
    for shared in (name for name in texts if name.startswith("_")):
        for path in output.glob("polyprobe_*.yaml"):
            if path.name not in texts and f"include: {shared}\n" in path.read_text("utf-8"):
                path.unlink()
    return [output / name for name in texts]


def check_scoring(scoring: str) -> None:
    """Refuse scorings that tasks cannot follow."""
    if scoring not in SCORINGS:
        text = f"--scoring {scoring} is not available in harnesses; known: {', '.join(SCORINGS)}"
        raise PolyprobeError(text)
