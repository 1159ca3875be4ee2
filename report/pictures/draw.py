"""Save pictures as SVG, PDF and PNG files; the same picture gives the same bytes."""

import re
from pathlib import Path

from polyprobe.metrics.pictures.picture import Picture
from polyprobe.metrics.pictures.svg import draw_svg, set_colours
from polyprobe.system.files import write_whole
from polyprobe.system.messages import report
from polyprobe.system.options import check_arguments

from . import check_figure
from .order import name_picture

SCALE = 3  # pixels of a PNG for a pixel of the SVG
# Letters of other scripts than Latin, Greek and Cyrillic; most machines have a font for these.
_FOREIGN = re.compile(r"[\u0590-\u1dff\u2e80-\uffef]")


@check_arguments
def save_picture(picture: Picture, path: Path, names: bool = False) -> None:
    """Save a picture as SVG, PDF or PNG, by the ending of the file's name.

    Args:
        picture: the picture to draw.
        path: the file; an older one is replaced.
        names: write the names of languages instead of their codes.

    Raises:
        PolyprobeError: another ending, no writer of PDF and PNG, or the file cannot be written.
    """
    check_figure(path)
    svg = set_colours(draw_svg(picture, name_picture(picture) if names else None))
    ending = path.suffix.lower()

    def write(part: Path) -> None:
        if ending == ".svg":
            text = f'<?xml version="1.0" encoding="UTF-8"?>\n{svg}\n'
            part.write_text(text, encoding="utf-8", newline="")
            return
        import vl_convert

        pdf = ending == ".pdf"
        content = vl_convert.svg_to_pdf(svg) if pdf else vl_convert.svg_to_png(svg, scale=SCALE)
        part.write_bytes(content)

    write_whole(path, write, "choose another --figure")
    if ending != ".svg" and _FOREIGN.search(svg):
        report(f"{path}: letters of a script without a font on this machine are missing; SVG keeps "
               "them as text")  # fmt: skip
