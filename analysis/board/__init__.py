"""Many runs as one table: means, intervals, sizes, slopes."""

from pathlib import Path

from polyprobe.system.files import part_of
from polyprobe.system.messages import PolyprobeError

CARD, PAGE, JSON, TABLE, LATEX = "README.md", "index.html", "board.json", "board.csv", "board.tex"
FILES = (CARD, PAGE, JSON, TABLE, LATEX)
SEALED = "files"  # in board.json: SHA-256 by name of the files that only `board` writes
REMEDY = "choose another --output"
TABLES = (".csv", ".tex", ".md")  # of --table


def check_output(folder: Path) -> None:
    """Refuse a file, and a folder that has files but no board."""
    if folder.suffix.lower() == ".html" or folder.is_file():
        raise PolyprobeError(f"--output {folder}: expected a folder for {PAGE}")
    parts = {part_of(folder / JSON)}  # of a killed start
    if folder.is_dir() and {*folder.iterdir()} - parts and not (folder / JSON).is_file():
        raise PolyprobeError(f"{folder} is not empty and holds no {JSON}; {REMEDY}")
