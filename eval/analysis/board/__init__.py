"""Many runs as one table: means, intervals, sizes, slopes."""

from pathlib import Path

from polyprobe.system.errors import PolyprobeError

PAGE, JSON = "index.html", "board.json"
REMEDY = "choose another --output"
TABLES = (".csv", ".tex", ".md")  # as in table.py, which imports rich


def check_folder(folder: Path) -> None:
    """Refuse a file, and a folder that has files but no board.

    Raises:
        PolyprobeError: the folder has files and no board.
    """
    if folder.suffix == ".html" or folder.is_file():
        raise PolyprobeError(f"--output {folder}: expected a folder for {PAGE}")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / JSON).is_file():
        raise PolyprobeError(f"{folder} is not empty and holds no {JSON}; {REMEDY}")


def check_table(file: Path) -> None:
    """Refuse a file name with another ending than those of `TABLES`.

    Raises:
        PolyprobeError: another ending.
    """
    if file.suffix not in TABLES:
        raise PolyprobeError(
            f"--table {file}: expected a name that ends in {', '.join(TABLES[:-1])} or {TABLES[-1]}"
        )
