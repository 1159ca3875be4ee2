"""`polyprobe audit`: count the defects of a dataset."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from polyprobe.system.errors import PolyprobeError
from polyprobe.system.options import option

from .options import Outputs, check_dataset, parse_splits, say, take_options, write_json


@dataclass(frozen=True)
class AuditOptions(Outputs):
    """What is audited, and the files that are written."""

    config: str | None = option(None, "Configuration of the dataset.")
    languages: str | None = option(None, "Comma-separated language codes (default: all).")
    templates: bool = option(
        False,
        "Count the templates of each relation and their edit distance instead, in all "
        "configurations without --config.",
    )
    html_file: Path | None = option(
        None, "Write the figures as an HTML page.", flag="--html", metavar="FILE"
    )

    def check(self) -> None:
        """Refuse a page of templates, and one file for two formats."""
        super().check()
        if self.templates and self.html_file:
            raise PolyprobeError("--templates has no page; give --json instead of --html")
        if self.json_file and self.json_file == self.html_file:
            raise PolyprobeError(f"--json and --html both name {self.json_file}; choose two files")


@take_options(AuditOptions)
def audit(
    dataset: Annotated[
        str, typer.Argument(help="Folder, name, OWNER/NAME on the Hub, or a folder of BMLAMA TSVs.")
    ],
    options: AuditOptions,
) -> None:
    """Count the defects of a dataset by language, and their effect on RankC."""
    if not Path(dataset).exists():
        check_dataset(dataset)
    # these imports take a second; mistakes of the user are refused before
    from polyprobe.system.extras import explain_missing_extras
    from polyprobe.system.files import write_text

    with explain_missing_extras("the audit"):
        from polyprobe.builder.audit import audit_tables
        from polyprobe.builder.audit.report import audit_table, render_audit, to_json
        from polyprobe.builder.audit.tables import count_templates, read_tables
        from polyprobe.builder.audit.templates import tabulate_counts, templates_json
    splits, name = parse_splits(options.languages), Path(dataset).resolve().name
    if options.templates:
        counts = count_templates(dataset, options.config, splits)
        say(tabulate_counts(counts, f"Templates of {name}"))
        if options.json_file:
            write_json(options.json_file, templates_json(counts))
        return
    tables = read_tables(dataset, options.config, splits)
    result = audit_tables(tables, f"{name}/{options.config or 'default'}")
    say(audit_table(result))
    if options.json_file:
        write_json(options.json_file, to_json(result))
    if options.html_file:
        write_text(options.html_file, render_audit(result), "choose another file")
