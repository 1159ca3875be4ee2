"""Commands that CI replaces or does not run: `table.toml`."""

import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from tests.blocks.pages import Block

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
        kind: `instead` (run something else), `upstream` (the same in a separate test,
            since it reads the papers' data), `elsewhere` (run by the named test), `shown` (no run).
        page: a page, or a pattern of pages.
        text: a command as `steps.words` writes it, a line of Python, or the first line of a block;
            a text that ends in `*` matches a prefix.
        run: replacement, for the first two kinds.
        why: the reason, or the name of the test.
    """

    kind: str
    page: str
    text: str
    run: str
    why: str

    def is_of(self, page: str, text: str) -> bool:
        begins = self.text.endswith("*") and text.strip().startswith(self.text[:-1])
        return fnmatch(page, self.page) and (begins or text.strip() == self.text)


def read_table() -> list[Entry]:
    """Return the entries of `table.toml`.

    Raises:
        ValueError: an unknown kind or key.
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
    return next((entry for entry in entries if entry.is_of(block.page, text)), None)
