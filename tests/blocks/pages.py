"""Pages with commands to copy: their fenced blocks, and the steps that tests run."""

import re
import shlex
import tomllib
from fnmatch import fnmatch
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


COMMANDS = ("polyprobe", "python")
SHELLS = ("bash", "sh")


class Step(NamedTuple):
    """One step to run or to skip.

    Attributes:
        block: its block.
        kind: `command`, `python`, `doctest`, or `output`: expected output of the previous step.
        text: code to run, or expected output.
        entry: its entry in the table, if any; `elsewhere`, `shown` and `upstream` are excluded
            from the run of the page.
    """

    block: Block
    kind: str
    text: str
    entry: Entry | None = None

    @property
    def is_run(self) -> bool:
        return self.entry is None or self.entry.kind == "instead"


class UnknownBlockError(Exception):
    """A block that is neither run nor listed in the table."""


def find_steps(blocks: list[Block], entries: list[Entry]) -> list[Step]:
    """Return the steps of a page in order.

    Raises:
        UnknownBlockError: a block of another language, an unknown command, or output without
            a step before it, unless the table lists it.
    """
    steps: list[Step] = []
    for block in blocks:
        whole = find_entry(entries, block, (block.text.splitlines() or [""])[0])
        if whole and whole.kind in ("shown", "elsewhere") and block.language not in SHELLS:
            steps.append(Step(block, "output", block.text, whole))
        elif block.language in SHELLS or is_commands(block):
            steps += [read_command(block, line, entries) for line in split_commands(block.text)]
        elif block.language == "python":
            steps.append(read_python(block, entries))
        elif block.language == "text" and steps and steps[-1].is_run:
            steps.append(Step(block, "output", block.text))
        else:
            raise UnknownBlockError(
                f"{block.place}: {block.language or 'a block without a language'} is neither run "
                "nor in tests/blocks/table.toml"
            )
    return steps


def is_commands(block: Block) -> bool:
    """Return whether a block without a language contains only our commands, as in cards."""
    lines = split_commands(block.text) if not block.language else []
    return bool(lines) and all(line.startswith("polyprobe ") for line in lines)


def read_command(block: Block, line: str, entries: list[Entry]) -> Step:
    text = words(line)
    entry = find_entry(entries, block, text)
    program = re.sub(r"^(\w+=\S* )+", "", text).split(" ")[0]
    if entry is None and program not in COMMANDS:
        raise UnknownBlockError(
            f"{block.place}: `{text}` is no command that the tests run ({', '.join(COMMANDS)}), "
            "and not in tests/blocks/table.toml"
        )
    return Step(block, "command", entry.run if entry and entry.run else text, entry)


def read_python(block: Block, entries: list[Entry]) -> Step:
    instead = [entry for entry in entries if entry.kind == "instead"]
    used = [(line, find_entry(instead, block, line)) for line in block.text.splitlines()]
    found = next((entry for _, entry in used if entry), None)
    lines = [replace_line(line, entry) if entry else line for line, entry in used]
    kind = "doctest" if re.search(r"^>>> ", block.text, re.MULTILINE) else "python"
    return Step(block, kind, "\n".join([*lines, ""]), found)


def replace_line(line: str, entry: Entry) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    return "\n".join(indent + part for part in entry.run.splitlines())


def split_commands(text: str) -> list[str]:
    r"""Return the command lines of a block, without prompts; lines ending in `\` are joined.

    >>> split_commands("$ polyprobe demo  # all\n# nothing\na \\\n  b\n")
    ['polyprobe demo  # all', 'a    b']
    """
    joined = re.sub(r"\\\n", " ", text)
    lines = (line.strip().removeprefix("$ ") for line in joined.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def words(line: str) -> str:
    """Return a command line without its comment, with one space between words.

    >>> words("polyprobe  report 'a b'   # two runs")
    "polyprobe report 'a b'"
    """
    return shlex.join(shlex.split(line, comments=True))


FRAME = re.compile(r"[\u2500-\u257f]+")  # of tables in the terminal


def lines_of(text: str) -> list[str]:
    """Return the non-empty lines without frames, with one space between words.

    >>> lines_of("│ en │  0.9 │\\n├────┤\\n")
    ['en 0.9']
    """
    lines = (" ".join(FRAME.sub(" ", line).split()) for line in text.splitlines())
    return [line for line in lines if line]


def missing_line(shown: str, printed: str) -> str | None:
    """Return the first shown line that was not printed in this order; None if all were printed.

    The printed output may have more lines; `…` in a line matches any text.

    >>> missing_line("a\\nc …", "a\\nb\\nc 1\\n") is None
    True
    >>> missing_line("b\\na", "a\\nb")
    'a'
    """
    rest = iter(lines_of(printed))
    for line in lines_of(shown):
        wanted = re.compile(".*".join(map(re.escape, line.split("…"))))
        if not any(wanted.fullmatch(other) for other in rest):
            return line
    return None
