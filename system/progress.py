"""Progress bars and counts on standard error."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import track as rich_track

Item = TypeVar("Item")


def track(items: Iterable[Item], description: str) -> Iterator[Item]:
    """Yield the items under a progress bar, which disappears at the end."""
    console = Console(stderr=True)
    hidden = not console.is_terminal  # a pipe or a log
    return iter(rich_track([*items], description, console=console, transient=True, disable=hidden))


def report(line: str) -> None:
    """Print one line, such as a count of excluded rows."""
    Console(stderr=True, soft_wrap=True).print(line, markup=False, highlight=False)
