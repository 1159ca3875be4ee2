"""What CI runs in place of what a page says, and what it does not run: `table.toml`."""

import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from polyprobe.tests.blocks.pages import Block

TABLE = Path(__file__).with_name("table.toml")
KINDS = {
    "instead": {"page", "text", "run", "because"},
    "upstream": {"page", "text", "run"},
    "elsewhere": {"page", "text", "where"},
    "shown": {"page", "text", "because"},
}


class Entry(NamedTuple):
    """One line of the table.

    Attributes:
        kind: `instead` (other words are run), `upstream` (other words, in a test of its own, since
            they read the papers' data), `elsewhere` (what runs it is named), `shown` (not run).
        page: a page, or a pattern of pages.
        text: a command as `steps.words` writes it, a line of Python, or the first line of a block;
            one that ends in `*` is the beginning of it.
        run: what is run, for the first two.
        why: the reason, or the place.
    """

    kind: str
    page: str
    text: str
    run: str
    why: str

    def is_of(self, page: str, text: str) -> bool:
        """Tell whether the entry speaks of this text on this page."""
        begins = self.text.endswith("*") and text.strip().startswith(self.text[:-1])
        return fnmatch(page, self.page) and (begins or text.strip() == self.text)


def read_table() -> list[Entry]:
    """Return the entries of `table.toml`.

    Raises:
        ValueError: a kind or a key that is none.
    """
    entries = []
    for kind, rows in tomllib.loads(TABLE.read_text(encoding="utf-8")).items():
        for row in rows:
            if kind not in KINDS or row.keys() != KINDS[kind]:
                raise ValueError(f"table.toml: [[{kind}]] {row} has other keys than {KINDS}")
            why = row.get("because") or row.get("where") or "reads the papers' data"
            entries.append(Entry(kind, row["page"], row["text"].strip(), row.get("run", ""), why))
    return entries


def find_entry(entries: list[Entry], block: Block, text: str) -> Entry | None:
    """Return the first entry that speaks of a text of a block."""
    return next((entry for entry in entries if entry.is_of(block.page, text)), None)
