"""`polyprobe audit`: count the defects of a dataset."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from polyprobe.system.errors import PolyprobeError, unknown

from .options import JsonFile, check_dataset, parse_splits, write_json

if TYPE_CHECKING:
    import pyarrow as pa


def audit(
    dataset: Annotated[
        str, typer.Argument(help="Folder, name, OWNER/NAME on the Hub, or a folder of BMLAMA TSVs.")
    ],
    config: Annotated[str | None, typer.Option(help="Configuration of the dataset.")] = None,
    languages: Annotated[
        str | None, typer.Option(help="Comma-separated language codes (default: all).")
    ] = None,
    templates: Annotated[
        bool,
        typer.Option(
            "--templates",
            help="Count the templates of each relation and their edit distance instead, in all "
            "configurations without --config.",
        ),
    ] = False,
    json_file: JsonFile = None,
    html_file: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write the figures as an HTML page."),
    ] = None,
) -> None:
    """Count the defects of a dataset by language, and their effect on RankC."""
    if templates and html_file:
        raise PolyprobeError("--templates has no page; give --json instead of --html")
    if not Path(dataset).exists():
        check_dataset(dataset)
    from polyprobe.system.extras import explain_missing_extras
    from polyprobe.system.files import write_text

    with explain_missing_extras("the audit"):
        from polyprobe.builder.audit import audit_tables
        from polyprobe.builder.audit.report import audit_table, render_page, to_json
    if templates:
        show_templates(dataset, config, parse_splits(languages), json_file)
        return
    tables = read_tables(dataset, config, parse_splits(languages))
    if json_file and json_file == html_file:
        raise PolyprobeError(f"--json and --html both name {json_file}; choose two files")
    found = audit_tables(tables, f"{Path(dataset).resolve().name}/{config or 'default'}")
    Console().print(audit_table(found))
    if json_file:
        write_json(json_file, to_json(found))
    if html_file:
        write_text(html_file, render_page(found), "choose another file")


def show_templates(
    dataset: str, config: str | None, languages: list[str] | None, json_file: Path | None
) -> None:
    """Print the counts of templates by language, and write them as JSON."""
    from polyprobe.builder.audit.templates import measure_templates, tabulate_counts, templates_json
    from polyprobe.schema.card import list_splits, read_card
    from polyprobe.schema.columns import split_name
    from polyprobe.schema.locate import locate

    folder, counts = Path(locate(dataset)), {}
    card = folder / "README.md"
    listed = list_splits(read_card(card)) if card.is_file() and not config else []
    splits = {name: [x.name for x in listed if x.config == name] for name, *_ in listed}
    if len(splits) < 2:
        for language, table in read_tables(dataset, config, languages).items():
            counts[language] = measure_templates(table, f"{dataset}: {language}")
    else:
        check_languages(languages, set().union(*splits.values()), dataset)
        for name, own in splits.items():
            chosen = [language for language in own if languages is None or language in languages]
            for language, table in read_tables(dataset, name, chosen).items() if chosen else ():
                key = language if split_name(name) == language else f"{name} {language}"
                counts[key] = measure_templates(table, f"{dataset}: {key}")
    if all(own.unread == own.templates for own in counts.values()):
        raise PolyprobeError(
            f"{dataset} has no templates: no relation's prompts differ only in the subject's label"
        )
    Console().print(tabulate_counts(counts, f"Templates of {Path(dataset).resolve().name}"))
    if json_file:
        write_json(json_file, templates_json(counts))


def read_tables(
    dataset: str, config: str | None, languages: list[str] | None
) -> "dict[str, pa.Table]":
    """Return the tables of a dataset, unchecked, or of a folder with the TSV files of BMLAMA."""
    from polyprobe.builder.sources.bmlama.files import is_raw, read_raw
    from polyprobe.schema.load import read_splits
    from polyprobe.schema.locate import locate

    folder = Path(dataset)
    if folder.is_file():
        raise PolyprobeError(f"{dataset} is a file; give the folder of a dataset")
    if folder.is_dir() and is_raw(folder):
        if config:
            raise PolyprobeError(
                f"{dataset} holds TSV files, which have no configurations; omit --config"
            )
        return read_raw(folder, languages)
    if folder.is_dir() and locate(dataset) == dataset and not any(folder.rglob("*.parquet")):
        raise PolyprobeError(f"{dataset} holds neither Parquet nor TSV files; give another folder")
    tables = read_splits(dataset, config)
    check_languages(languages, tables, dataset)
    return {language: tables[language] for language in languages or tables}


def check_languages(languages: list[str] | None, known: Collection[str], dataset: str) -> None:
    """Refuse languages that a dataset does not have."""
    for language in languages or ():
        if language not in known:
            raise unknown("language", language, dataset, known)
