"""What the commands that analyse runs write: the terminal, JSON, a page, a picture."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from polyprobe.report.pictures import LABELS, ORDERS
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.options import Options, option

from .options import (
    PICTURES,
    check_figure_file,
    check_page_file,
    save_chosen,
    say,
    show,
    write_json,
)

if TYPE_CHECKING:
    from polyprobe.report.finding import Finding

_picture = partial(option, panel=PICTURES)


@dataclass(frozen=True)
class Outputs(Options):
    """Files that a command writes beside its text, and how the picture is drawn."""

    json_file: Path | None = option(
        None, "Write all figures to this file as JSON.", flag="--json", metavar="FILE"
    )
    page: Path | None = option(
        None,
        "Write an HTML report to this file.",
        flag="--output",
        metavar="FILE",
        check=check_page_file,
    )
    figure: Path | None = _picture(
        None,
        "Save a picture to this .svg, .pdf or .png file (the last two: extra `figures`).",
        check=check_figure_file,
    )
    draw: str | None = _picture(
        None,
        "Name of the picture that --figure saves (default: the first); an unknown name lists all "
        "names.",
    )
    order: str = _picture(
        "given",
        "Order of languages in the picture: given, similarity (clusters), family or script.",
        choices=ORDERS,
    )
    names: str = _picture(
        "codes", "Labels of the languages in the picture: codes or names.", choices=LABELS
    )

    def check(self) -> None:
        """Refuse options of the picture without --figure."""
        super().check()
        for name in ("draw", "order", "names") if self.figure is None else ():
            if getattr(self, name) != type(self).__dataclass_fields__[name].default:
                raise PolyprobeError(f"--{name} requires --figure FILE")

    def write(
        self,
        finding: "Finding",
        as_json: Callable[[], Any],
        write_page: "Callable[[Finding, Path], None] | None" = None,
    ) -> None:
        """Print a finding, and write the files that were named."""
        from polyprobe.report.show import render

        show(render(finding, Console().width))
        if self.json_file:
            write_json(self.json_file, as_json())
        if self.page and write_page:
            write_page(finding, self.page)
            say(f"report: {self.page}")
        if self.figure:
            save_chosen(finding.pictures, self.figure, self.draw, self.order, self.names)
