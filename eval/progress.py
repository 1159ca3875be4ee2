"""A bar for work that takes seconds where there are many languages."""

from collections.abc import Collection, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import track as track_items

Item = TypeVar("Item")


def track(items: Collection[Item], description: str) -> Iterator[Item]:
    """Yield the items under a progress bar on standard error, gone when they are done."""
    return iter(track_items(items, description, console=Console(stderr=True), transient=True))
