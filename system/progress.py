"""Progress bars and counts on standard error."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import track as rich_track

Item = TypeVar("Item")


def track(items: Iterable[Item], description: str) -> Iterator[Item]:
    """Yield the items under a progress bar, which disappears at the end.

    Nothing is drawn into a pipe or a log.
    """
    console = Console(stderr=True)
    hidden = not console.is_terminal
    return iter(rich_track([*items], description, console=console, transient=True, disable=hidden))


def count_bars(console: Console) -> Progress:
    """Return progress bars that show how many items are done, and the time left."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeRemainingColumn(), console=console)


def report(line: str) -> None:
    """Print one line, such as a count of excluded rows."""
    Console(stderr=True, soft_wrap=True).print(line, markup=False, highlight=False)
