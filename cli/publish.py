"""`polyprobe export`, `push` and `install`: what publish/ does, as commands."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from polyprobe.publish.export import RUN_FORMATS, export_run
from polyprobe.publish.harness import HARNESSES, SCORINGS, export_dataset
from polyprobe.publish.source import find_folder, find_kind
from polyprobe.system.messages import PolyprobeError, report
from polyprobe.system.options import Options, option

from .options import one_of, parse_splits, say, take_options

_dataset = partial(option, panel="A dataset as tasks")


@dataclass(frozen=True)
class ExportOptions(Options):
    """The file or folder of an export, and what it is of."""

    output: Path | None = option(
        None, "File; a folder for every-eval-ever and datasets (default: in the run folder)."
    )
    dataset_id: str | None = option(None, "OWNER/NAME of the dataset on the Hub.")
    card: Path | None = option(
        None, "For model-index: a model's README.md to add it to.", panel="A run's results"
    )
    config: str | None = _dataset(None, "Configuration.")
    languages: str | None = _dataset(None, "Comma-separated language codes (default: all).")
    scoring: str | None = _dataset(
        None, "Protocol of the tasks: bmlama or object (default: bmlama).", choices=SCORINGS
    )

    def refuse(self, format: str, *names: str) -> None:
        """Refuse options of other formats."""
        for name in names:
            if getattr(self, name) is not None:
                raise PolyprobeError(f"--{name} is not an option of --format {format}")


@take_options(ExportOptions)
def export(
    sources: Annotated[
        list[Path],
        typer.Argument(help="Run, for latex several; for a harness a dataset's folder or name."),
    ],
    format: Annotated[
        str,
        typer.Option(
            callback=one_of("--format", [*RUN_FORMATS, *HARNESSES]),
            help=f"For a run: {', '.join(RUN_FORMATS)}. For a dataset: {', '.join(HARNESSES)}.",
            show_default=False,
        ),
    ],
    options: ExportOptions,
) -> None:
    """Export results to other formats, or a dataset to tasks of other harnesses."""
    source, *peers = sources
    output, dataset_id = options.output, options.dataset_id
    if format in RUN_FORMATS:
        options.refuse(format, "config", "languages", "scoring")
        paths = [export_run(source, format, output, dataset_id, options.card, peers)]
    else:
        options.refuse(format, "card")
        if peers:
            raise PolyprobeError(f"--format {format} takes one dataset, not {len(sources)}")
        dataset, splits = find_dataset(source, format), parse_splits(options.languages)
        folder, scoring = output or Path(f"{dataset.name}-{format}"), options.scoring or "bmlama"
        paths = export_dataset(dataset, format, folder, options.config, splits, dataset_id, scoring)
    say(*map(str, paths))


def find_dataset(source: Path, format: str) -> Path:
    """Find the dataset folder as `eval --dataset` does, else as `push` does."""
    from polyprobe.schema.locate import locate

    if (source / "run.json").is_file():
        raise PolyprobeError(f"{source} is a run; {format} takes a dataset's folder")
    place = Path(locate(str(source)))
    return place.resolve() if place.is_dir() else find_folder(source)


def push(
    source: Annotated[
        Path,
        typer.Argument(help="Folder of a dataset, a metric or a board, such as datasets/bmlama."),
    ],
    repo: Annotated[str, typer.Argument(help="OWNER/NAME on the Hub, created if missing.")],
    private: Annotated[bool, typer.Option("--private", help="Create it as a private one.")] = False,
    revision: Annotated[str, typer.Option(help="Branch, created if missing.")] = "main",
    create_pr: Annotated[bool, typer.Option("--create-pr", help="Open a pull request.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the changes.")] = False,
    despite_license: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LICENSE",
            help="Publish despite this licence of the card, if you have the right; repeatable.",
        ),
    ] = None,
) -> None:
    """Upload the changes of a dataset, a metric (a Gradio Space) or a board (a static one).

    All changes are one commit on the Hub.

    Card, configurations, rows and licence are checked first. The token is taken from
    `hf auth login` or HF_TOKEN. Run the same command again to resume; it skips unchanged files.
    """
    find_kind(find_folder(source))  # refuse other folders before the imports, which take seconds
    from polyprobe.publish import push as steps

    target = steps.Target(repo, private, revision, create_pr)
    for line in steps.push_folder(source, target, despite_license or (), dry_run):
        say(line)


def install(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders of datasets and metrics (default: every metric, the embedded dataset, "
            "and each folder of ./datasets with Parquet).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Make load_dataset("bmlama", "53") and evaluate.load("rankc") work in any folder."""
    from polyprobe.publish.install import find_folders, install_folder

    if not folders:
        folders, skipped = find_folders()
        for folder in skipped:
            report(f"skipped {folder}: no Parquet in it; see `polyprobe build`")
    for folder in folders:
        say(install_folder(folder))
