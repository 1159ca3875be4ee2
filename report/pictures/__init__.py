"""Pictures for papers: the data of heat maps and charts, and their SVG, PDF and PNG files."""

from pathlib import Path

from polyprobe.system.messages import check_ending, require

ORDERS = ("given", "similarity", "family", "script")
LABELS = ("codes", "names")


def check_figure(file: Path) -> None:
    """Refuse a file name with another ending; PDF and PNG if their writer is missing."""
    check_ending("--figure", file, (".svg", ".pdf", ".png"))
    if file.suffix.lower() != ".svg":
        require(f"--figure {file.name}", "vl_convert")
