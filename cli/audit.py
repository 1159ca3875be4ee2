"""`polyprobe audit`: count the defects of a dataset."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from polyprobe.system.errors import PolyprobeError

from .options import JsonFile, check_dataset, parse_splits, write_json


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
        from polyprobe.builder.audit.tables import count_templates, read_tables
        from polyprobe.builder.audit.templates import tabulate_counts, templates_json
    splits, name = parse_splits(languages), Path(dataset).resolve().name
    if templates:
        counts = count_templates(dataset, config, splits)
        Console().print(tabulate_counts(counts, f"Templates of {name}"))
        if json_file:
            write_json(json_file, templates_json(counts))
        return
    tables = read_tables(dataset, config, splits)
    if json_file and json_file == html_file:
        raise PolyprobeError(f"--json and --html both name {json_file}; choose two files")
    result = audit_tables(tables, f"{name}/{config or 'default'}")
    Console().print(audit_table(result))
    if json_file:
        write_json(json_file, to_json(result))
    if html_file:
        write_text(html_file, render_page(result), "choose another file")
