"""What a build says while it runs: a bar on a terminal, and lines of what it left out."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import track as rich_track

Item = TypeVar("Item")


def track(items: Iterable[Item], description: str) -> Iterator[Item]:
    """Yield the items behind a bar on standard error; nothing is drawn into a pipe or a log."""
    console = Console(stderr=True)
    return iter(
        rich_track(list(items), description, console=console, disable=not console.is_terminal)
    )


def report(line: str) -> None:
    """Print a line to standard error: what was left out, counted."""
    Console(stderr=True, soft_wrap=True).print(line, markup=False, highlight=False)
