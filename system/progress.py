"""The terminal: what is printed, progress bars, and the logs of libraries."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

import rich.console
from rich.progress import Progress, TextColumn
from rich.segment import Segment

from .text import clean, clean_lines, hide_secrets

Item = TypeVar("Item")
DESCRIPTION = "{task.description}"
_make_record = logging.getLogRecordFactory()


class Console(rich.console.Console):
    """The only kind of console: values are printed as they are, without commands to a terminal."""

    def __init__(self, stderr: bool = False, **options: Any) -> None:
        plain = {"markup": False, "emoji": False, "highlight": False}
        super().__init__(stderr=stderr, **plain, **options)

    def render(self, *arguments: Any, **options: Any) -> Iterator[Segment]:
        """Render anything to text, of which rich cleans only a part."""
        for segment in super().render(*arguments, **options):
            yield segment if segment.control else segment._replace(text=clean_lines(segment.text))


def track(items: Iterable[Item], description: str) -> Iterator[Item]:
    """Yield the items under a progress bar, which disappears at the end."""
    console = Console(stderr=True)
    hidden = not console.is_terminal  # a pipe or a log
    columns = (TextColumn(DESCRIPTION, markup=False), *Progress.get_default_columns()[1:])
    with Progress(*columns, console=console, transient=True, disable=hidden) as bars:
        yield from bars.track([*items], description=description)


def report(line: str) -> None:
    """Print one line on standard error, such as a count of excluded rows."""
    Console(stderr=True, soft_wrap=True).print(hide_secrets(clean(line)))


def hide_secrets_in_logs() -> None:
    """Cut secrets from what libraries log: the Hub's client logs its address with each retry."""

    def make(*values: Any, **keywords: Any) -> logging.LogRecord:
        record = _make_record(*values, **keywords)
        with suppress(Exception):  # arguments that do not fit: the library's own mistake
            record.msg, record.args = hide_secrets(clean_lines(record.getMessage())), ()
        return record

    logging.setLogRecordFactory(make)
