"""Pages with commands to copy, and their fenced blocks."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PLACES = ("README.md", "docs/**/*.md", "datasets/*/README.md", "builder/recipes/balanced/card.md")
"""The cards of metrics/ are run by tests/metrics/test_modules.py; of builder/sources/ the other
pages are made into those of datasets/."""

FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>\S*)(?P<rest>.*)$")


class Block(NamedTuple):
    """A fenced block: page, line of the fence, language, content."""

    page: str
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        """Return PAGE:LINE."""
        return f"{self.page}:{self.line}"


def list_pages() -> list[str]:
    """Return the pages as paths from the root, sorted.

    Of datasets/, only cards that are committed or written by `polyprobe build`.
    """
    found = {path for place in PLACES for path in ROOT.glob(place)}
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def read_blocks(page: str, text: str | None = None) -> list[Block]:
    """Return the blocks of a page in order, without the indentation of their fence.

    Raises:
        ValueError: a block without an end.
    """
    lines = (ROOT / page).read_text(encoding="utf-8") if text is None else text
    blocks: list[Block] = []
    start, opened, inside = 0, None, []
    for number, line in enumerate(lines.splitlines(), 1):
        fence = FENCE.match(line)
        if opened is None and fence:
            start, opened, inside = number, fence, []
        elif opened is not None and fence and closes(opened, fence):
            blocks.append(Block(page, start, opened["language"], "\n".join([*inside, ""])))
            opened = None
        elif opened is not None:
            inside.append(line.removeprefix(opened["indent"]))
    if opened is not None:
        raise ValueError(f"{page}:{start}: the block has no end")
    return blocks


def closes(opened: re.Match[str], fence: re.Match[str]) -> bool:
    long_enough = len(fence["ticks"]) >= len(opened["ticks"])
    return long_enough and not fence["language"] and not fence["rest"].strip()
