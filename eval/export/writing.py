"""Exported files: written whole, and never over a file that something else wrote."""

from pathlib import Path

from huggingface_hub.utils import yaml_dump

from polyprobe import PolyprobeError

from ..writing import write_whole

MARK = "made by `polyprobe export`"
REMEDY = "nothing was exported: choose another --output"


def write_export(file: Path, text: str) -> Path:
    """Write an exported file and return its path.

    What stands there is replaced if it begins with the same line: then it is an older export.

    Raises:
        PolyprobeError: another file stands there, or it cannot be written.
    """
    first = text.splitlines()[0]
    if file.is_file() and file.stat().st_size:
        with file.open(encoding="utf-8", errors="replace") as handle:
            if handle.readline().rstrip("\n") != first:
                raise PolyprobeError(f"{file} is no export of this format; {REMEDY}")
    write_whole(file, lambda part: part.write_text(text, encoding="utf-8", newline="\n"), REMEDY)
    return file


def as_yaml(value: object) -> str:
    """Return YAML as huggingface_hub writes it, with a first line that says whose it is."""
    return f"# {MARK}\n{yaml_dump(value, sort_keys=False)}"
