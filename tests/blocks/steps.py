"""Convert blocks to steps: commands, Python, and their expected output."""

import re
import shlex
from typing import NamedTuple

from tests.blocks.pages import Block
from tests.blocks.table import Entry, find_entry

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
