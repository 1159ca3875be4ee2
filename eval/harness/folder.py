"""The folder that an export is written to."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from polyprobe import PolyprobeError

from ..writing import write_whole

OURS = ("polyprobe_", "_polyprobe_", "__pycache__")


def check_output(folder: Path) -> None:
    """Refuse a folder that holds anything but exported tasks."""
    if folder.exists() and not folder.is_dir():
        raise PolyprobeError(f"{folder} is a file; give a folder with --output")
    others = [path for path in folder.glob("*") if not path.name.startswith(OURS)]
    if others:
        raise PolyprobeError(
            f"{folder} holds {min(others).name}, which is no exported task; "
            "give a new folder with --output"
        )


def write_files(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write the texts by their names, relative to the folder, and return their paths.

    Tasks of languages that an earlier export had and this one has not are removed: they name the
    shared file of the group, the only name of `texts` that begins with `_`.
    """
    paths = {name: folder / name for name in texts}
    for name, text in texts.items():
        write = partial(Path.write_text, data=text, encoding="utf-8", newline="\n")
        write_whole(paths[name], write, "choose another --output")
    shared = [name for name in texts if name.startswith("_")]
    for path in folder.glob("polyprobe_*.yaml") if shared else ():
        if path.name not in texts and f"include: {shared[0]}\n" in path.read_text("utf-8"):
            path.unlink()
    return list(paths.values())
