"""`polyprobe audit`: count the defects of a dataset."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from polyprobe.schema.locate import check_dataset_name
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.options import option

from .options import Outputs, PageOptions, parse_splits, take_options


@dataclass(frozen=True)
class AuditOptions(PageOptions, Outputs):
    """What is audited, and the files that are written."""

    config: str | None = option(None, "Configuration of the dataset.")
    languages: str | None = option(None, "Comma-separated language codes (default: all).")
    templates: bool = option(
        False,
        "Count the templates of each relation and their edit distance instead, in all "
        "configurations without --config.",
    )

    def check(self) -> None:
        """Refuse one file for two formats."""
        super().check()
        if self.json_file and self.json_file == self.page:
            raise PolyprobeError(f"--json and --output both name {self.page}; choose two files")


@take_options(AuditOptions)
def audit(
    dataset: Annotated[
        str, typer.Argument(help="Folder, name, OWNER/NAME on the Hub, or a folder of BMLAMA TSVs.")
    ],
    options: AuditOptions,
) -> None:
    """Count the defects of a dataset by language, and their effect on RankC."""
    if not Path(dataset).exists():
        check_dataset_name(dataset)
    # these imports take a second; mistakes of the user are refused before
    from polyprobe.system.messages import explain_missing_extras

    with explain_missing_extras("the audit"):
        from polyprobe.builder.audit import audit_tables
        from polyprobe.builder.audit.report import make_audit_finding, to_json
        from polyprobe.builder.audit.tables import count_parts, count_templates, read_tables
        from polyprobe.builder.audit.templates import make_templates_finding, templates_json
    splits, name = parse_splits(options.languages), Path(dataset).resolve().name
    if options.templates:
        counts = count_templates(dataset, options.config, splits)
        options.write(make_templates_finding(counts, name), lambda: templates_json(counts))
        return
    tables = read_tables(dataset, options.config, splits)
    result = audit_tables(tables, f"{name}/{options.config or 'default'}")
    result = result._replace(parts=count_parts(dataset, tables))
    options.write(make_audit_finding(result), lambda: to_json(result))
