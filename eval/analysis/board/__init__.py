"""Many runs as one table: means, intervals, sizes, slopes."""

from pathlib import Path

from polyprobe.system.errors import PolyprobeError

PAGE, JSON = "index.html", "board.json"
REMEDY = "choose another --output"
TABLES = (".csv", ".tex", ".md")  # as in table.py, which imports rich


def check_folder(folder: Path) -> None:
    """Refuse a file, and a folder of something else.

    Raises:
        PolyprobeError: the folder has files and no board.
    """
    if folder.suffix.lower() == ".html" or folder.is_file():
        raise PolyprobeError(f"--output {folder}: a board is a folder, which has {PAGE}")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / JSON).is_file():
        raise PolyprobeError(f"{folder} is not empty and holds no {JSON}; {REMEDY}")
