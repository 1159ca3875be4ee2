"""`polyprobe export`: a run's results, or a dataset's rows, in the forms that others read."""

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
        Path, typer.Argument(help="A run folder; for a harness a dataset's folder or name.")
    ],
    format: Annotated[
        str,
        typer.Option(
            help="Of a run: eval-results, model-index, every-eval-ever, csv, latex. "
            "Of a dataset: lm-eval, lighteval.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            help="A file; a folder for every-eval-ever and of a dataset. In the run by default."
        ),
    ] = None,
    dataset_id: Annotated[
        str | None, typer.Option(help="OWNER/NAME of the dataset on the Hub.")
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option(help="model-index: a model's README.md to put it in.", rich_help_panel=RUN),
    ] = None,
    config: Annotated[
        str | None, typer.Option(help="The configuration.", rich_help_panel=DATASET)
    ] = None,
    languages: Annotated[
        str | None, typer.Option(help="Such as en,fr; all by default.", rich_help_panel=DATASET)
    ] = None,
    scoring: Annotated[
        str | None,
        typer.Option(
            help="bmlama (default) or object: which protocol the tasks come close to.",
            rich_help_panel=DATASET,
        ),
    ] = None,
) -> None:
    """Write results where people look for them, or tasks for other harnesses."""
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
    """Return the folder that `polyprobe eval --dataset` or else `polyprobe push` would take."""
    from polyprobe.publish.push.source import find_folder
    from polyprobe.schema.locate import locate

    if (given / "run.json").is_file():
        raise PolyprobeError(f"{given} is a run; {format} takes a dataset's folder")
    place = Path(locate(str(given)))
    return place.resolve() if place.is_dir() else find_folder(given)


def refuse(options: Mapping[str, object], format: str) -> None:
    """Refuse options that the format knows nothing of."""
    for name, value in options.items():
        if value is not None:
            option = name.replace("_", "-")
            raise PolyprobeError(f"--{option} is no option of --format {format}")
