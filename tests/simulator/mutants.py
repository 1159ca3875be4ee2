"""Faults planted in the product, each of which the simulator must find."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from polyprobe.builder.output import folder as built
from polyprobe.report.pictures import draw
from polyprobe.schema.run import folder
from polyprobe.system import files
from polyprobe.system.messages import PolyprobeError

Write = Callable[[Path], object]
WHOLE = files.write_whole


def write_in_place(file: Path, write: Write, remedy: str) -> None:
    """Write the file itself."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write(file)
    except OSError as error:
        raise PolyprobeError(f"cannot write {file}: {error.strerror}; {remedy}") from error


def write_unsynced(file: Path, write: Write, remedy: str) -> None:
    """Rename what is not on disk yet."""
    part = files.part_of(file)
    write_in_place(part, write, remedy)
    part.replace(file)


def write_and_forget(file: Path, write: Write, remedy: str) -> None:
    """Say nothing of a full disk."""
    with suppress(PolyprobeError):
        WHOLE(file, write, remedy)


@contextmanager
def replace_in_place(target: Path, folder: Path) -> Iterator[Path]:
    """Write a folder where it is to be."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    yield target


def seal_behind(run: folder.Run, language: str, table: Any) -> None:
    """Write the scores, and then run.json with their hash."""
    write = run._write_settings
    run._write_settings = lambda: None
    REAL_WRITE(run, language, table)
    del run._write_settings
    write()


REAL_WRITE = folder.Run.write


WRITERS = ((files, "write_whole"), (folder, "write_whole"), (draw, "write_whole"))
# By name: the modules and names that are replaced, and by what.
MUTANTS: dict[str, tuple[tuple[tuple[Any, str], ...], Any]] = {
    "in place": (WRITERS, write_in_place),
    "not synced": (WRITERS, write_unsynced),
    "swallowed": (WRITERS, write_and_forget),
    "folder in place": (((built, "replacing"),), replace_in_place),
    "seal behind": (((folder.Run, "write"),), seal_behind),
}


@contextmanager
def planted(name: str) -> Iterator[None]:
    """Plant a fault."""
    places, wrong = MUTANTS[name]
    with pytest.MonkeyPatch.context() as patch:
        for module, attribute in places:
            patch.setattr(module, attribute, wrong)
        yield
