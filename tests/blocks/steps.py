"""From blocks to what is run: commands, Python, and the output that is expected of them."""

import re
import shlex
from typing import NamedTuple

from polyprobe.tests.blocks.pages import Block
from polyprobe.tests.blocks.table import Entry, find_entry

COMMANDS = ("polyprobe", "python")
SHELLS = ("bash", "sh")


class Step(NamedTuple):
    """One thing to do, or to leave out.

    Attributes:
        block: where it stands.
        kind: `command`, `python`, `doctest`, or `output`: what the step before must have printed.
        text: what is run or expected.
        entry: of the table, where it has one; what is `elsewhere`, `shown` or `upstream` is left
            out of the page's own run.
    """

    block: Block
    kind: str
    text: str
    entry: Entry | None = None

    @property
    def is_run(self) -> bool:
        """Tell whether the page's own run does it."""
        return self.entry is None or self.entry.kind == "instead"


class UnknownBlockError(Exception):
    """A block that is neither run nor named in the table."""


def find_steps(blocks: list[Block], entries: list[Entry]) -> list[Step]:
    """Return the steps of a page in order.

    Raises:
        UnknownBlockError: a block of another language, a command that is none of ours, output
            that stands behind nothing that ran; none of them in the table.
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
    """Tell whether a block without a language holds nothing but commands of ours, as in cards."""
    lines = split_commands(block.text) if not block.language else []
    return bool(lines) and all(line.startswith("polyprobe ") for line in lines)


def read_command(block: Block, line: str, entries: list[Entry]) -> Step:
    """Return the step of a command line."""
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
    """Return the step of a block of Python, its lines replaced as the table says."""
    instead = [entry for entry in entries if entry.kind == "instead"]
    used = [(line, find_entry(instead, block, line)) for line in block.text.splitlines()]
    found = next((entry for _, entry in used if entry), None)
    lines = [replace_line(line, entry) if entry else line for line, entry in used]
    kind = "doctest" if re.search(r"^>>> ", block.text, re.MULTILINE) else "python"
    return Step(block, kind, "\n".join([*lines, ""]), found)


def replace_line(line: str, entry: Entry) -> str:
    """Return what the table has for a line of Python, indented as the line was."""
    indent = line[: len(line) - len(line.lstrip())]
    return "\n".join(indent + part for part in entry.run.splitlines())


def split_commands(text: str) -> list[str]:
    r"""Return the command lines of a block, those that end in `\` joined, prompts taken off.

    >>> split_commands("$ polyprobe demo  # all\n# nothing\na \\\n  b\n")
    ['polyprobe demo  # all', 'a    b']
    """
    joined = re.sub(r"\\\n", " ", text)
    lines = (line.strip().removeprefix("$ ") for line in joined.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def words(line: str) -> str:
    """Return a command line without its comment, one blank between words.

    >>> words("polyprobe  report 'a b'   # two runs")
    "polyprobe report 'a b'"
    """
    return shlex.join(shlex.split(line, comments=True))
