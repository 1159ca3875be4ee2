"""What the commands that analyse runs write: the terminal, JSON, a page, a picture."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
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
    from polyprobe.metrics.pictures.picture import Picture
    from polyprobe.report.finding import Finding

ARRANGEMENT = ("draw", "order", "names")  # options of the picture
_picture = partial(option, panel=PICTURES)


@dataclass(frozen=True)
class PictureOptions(Options):
    """A picture in a file."""

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

    def check(self) -> None:
        """Refuse options of the picture without --figure."""
        super().check()
        for part in fields(self) if self.figure is None else ():
            if part.name in ARRANGEMENT and getattr(self, part.name) != part.default:
                raise PolyprobeError(f"--{part.name} requires --figure FILE")

    @property
    def _arrangement(self) -> dict[str, str]:
        """List order and labels of languages, if the pictures have them."""
        return {}

    def save(self, pictures: "Mapping[str, Picture]") -> None:
        """Save the picture that was named."""
        if self.figure:
            save_chosen(pictures, self.figure, self.draw, **self._arrangement)


@dataclass(frozen=True)
class MapOptions(PictureOptions):
    """Pictures of languages, in an order and with labels."""

    order: str = _picture(
        "given",
        "Order of languages in the picture: given, similarity (clusters), family or script.",
        choices=ORDERS,
    )
    names: str = _picture(
        "codes", "Labels of the languages in the picture: codes or names.", choices=LABELS
    )

    @property
    def _arrangement(self) -> dict[str, str]:
        return {"order": self.order, "names": self.names}


@dataclass(frozen=True)
class PageOptions(Options):
    """A page in a file."""

    page: Path | None = option(
        None,
        "Write an HTML report to this file.",
        flag="--output",
        metavar="FILE",
        check=check_page_file,
    )


@dataclass(frozen=True)
class Outputs(Options):
    """Files that a command writes beside its text."""

    json_file: Path | None = option(
        None, "Write all figures to this file as JSON.", flag="--json", metavar="FILE"
    )

    def write(self, finding: "Finding", as_json: Callable[[], Any]) -> None:
        """Print a finding, and write the files that were named."""
        from polyprobe.report.show import render

        show(render(finding, Console().width))
        if self.json_file:
            write_json(self.json_file, as_json())


@dataclass(frozen=True)
class PictureOutputs(PictureOptions, Outputs):
    """Also a picture."""

    def write(self, finding: "Finding", as_json: Callable[[], Any]) -> None:
        """Print a finding, and write the files that were named."""
        super().write(finding, as_json)
        self.save(finding.pictures)


@dataclass(frozen=True)
class PageOutputs(PageOptions, PictureOptions, Outputs):
    """Also a picture, and a page, of the finding itself unless another writer is given."""

    def write(
        self,
        finding: "Finding",
        as_json: Callable[[], Any],
        write_page: "Callable[[Finding, Path], Any] | None" = None,
    ) -> None:
        """Print a finding, and write the files that were named."""
        super().write(finding, as_json)
        if self.page:
            from polyprobe.report.page.page import write_finding

            (write_page or write_finding)(finding, self.page)
            say(f"report: {self.page}")
        if self.figure:
            self.save(finding.pictures)


@dataclass(frozen=True)
class MapOutputs(MapOptions, PageOutputs):
    """Also order and labels of languages in the picture."""
