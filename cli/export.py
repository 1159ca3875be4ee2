"""`polyprobe export`: export a run's results, or a dataset as tasks of other harnesses."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from polyprobe.system.errors import PolyprobeError

from .options import parse_splits

RUN = "A run's results"
DATASET = "A dataset as tasks"


def export(
    source: Annotated[
        Path, typer.Argument(help="Run folder; for a harness the folder or name of a dataset.")
    ],
    format: Annotated[
        str,
        typer.Option(
            help="For a run: eval-results, model-index, every-eval-ever, csv, latex. "
            "For a dataset: lm-eval, lighteval.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            help="File; a folder for every-eval-ever and datasets (default: in the run folder)."
        ),
    ] = None,
    dataset_id: Annotated[
        str | None, typer.Option(help="OWNER/NAME of the dataset on the Hub.")
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option(
            help="For model-index: a model's README.md to add it to.", rich_help_panel=RUN
        ),
    ] = None,
    config: Annotated[
        str | None, typer.Option(help="Configuration.", rich_help_panel=DATASET)
    ] = None,
    languages: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated language codes (default: all).", rich_help_panel=DATASET
        ),
    ] = None,
    scoring: Annotated[
        str | None,
        typer.Option(
            help="Protocol that the tasks follow: bmlama or object (default: bmlama).",
            rich_help_panel=DATASET,
        ),
    ] = None,
) -> None:
    """Export results to other formats, or a dataset to tasks of other harnesses."""
    from polyprobe.publish.export import RUN_FORMATS, export_run
    from polyprobe.publish.harness import HARNESSES, export_dataset
    from polyprobe.system.errors import unknown

    of_run, of_dataset = (
        {"card": card},
        {"config": config, "languages": languages, "scoring": scoring},
    )
    if format in RUN_FORMATS:
        refuse(of_dataset, format)
        written = [export_run(source, format, output, dataset_id=dataset_id, card=card)]
    elif format in HARNESSES:
        refuse(of_run, format)
        asked = parse_splits(languages)
        dataset = find_dataset(source, format)
        folder = output or Path(f"{dataset.name}-{format}")
        written = export_dataset(
            dataset, format, folder, config, asked, dataset_id, scoring or "bmlama"
        )
    else:
        raise unknown("format", format, "export", [*RUN_FORMATS, *HARNESSES])
    for path in written:
        typer.echo(path)


def find_dataset(given: Path, format: str) -> Path:
    """Return the dataset folder as `eval --dataset` finds it, else as `push` does."""
    from polyprobe.publish.source import find_folder
    from polyprobe.schema.locate import locate

    if (given / "run.json").is_file():
        raise PolyprobeError(f"{given} is a run; {format} takes a dataset's folder")
    place = Path(locate(str(given)))
    return place.resolve() if place.is_dir() else find_folder(given)


def refuse(options: Mapping[str, object], format: str) -> None:
    """Refuse options of other formats."""
    for name, value in options.items():
        if value is not None:
            option = name.replace("_", "-")
            raise PolyprobeError(f"--{option} is not an option of --format {format}")
