"""What the commands that analyse runs write: the terminal, JSON, a page, a picture."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console

from .options import check_drawn, save_chosen, say, show, write_json

if TYPE_CHECKING:
    from polyprobe.report.finding import Finding


class Outputs(NamedTuple):
    """Files that a command writes beside its text, and how the picture is drawn.

    Attributes:
        json_file: of all figures.
        page: HTML page.
        figure: picture.
        draw: name of the picture; None: the first.
        order, names: of languages in the picture.
    """

    json_file: Path | None = None
    page: Path | None = None
    figure: Path | None = None
    draw: str | None = None
    order: str = "given"
    names: str = "codes"

    def check(self) -> None:
        """Refuse options of the picture without --figure."""
        check_drawn(self.figure, self.draw, self.order, self.names)

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
