"""Print the figures of the house: sizes of rooms, functions and names, jumps between files.

    python -m bench house [--jumps] [--write]

`tests/house.toml` holds the greatest value that each figure may have; `tests/test_ratchet.py`
compares them. `--jumps` also runs the commands that `bench page_turns` traces. `--write` replaces
the limits by the measured figures, which is right after a change that lowers them.
"""

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
LIMITS = ROOT / "tests" / "house.toml"
MIRROR = ROOT.parent / "shared" / "upstream"
ROOMS = sorted(
    path.parent.name for path in ROOT.glob("*/__init__.py") if path.parent.name != "tests"
)
LONG = 40  # lines of a function
STEP = 100  # a limit of lines is the next multiple, so that a correction needs no new limit
LISTS = ("builder/recipes", "builder/sources", "cli", "metrics")  # like things, one beside another


class Module(NamedTuple):
    """A module of a room: path from the root, text, syntax tree."""

    path: Path
    text: str
    tree: ast.Module


def read_limits() -> dict[str, Any]:
    """Read `tests/house.toml`."""
    return tomllib.loads(LIMITS.read_text(encoding="utf-8"))


def read_modules() -> list[Module]:
    """Read every module of every room."""
    paths = (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")))
    texts = ((path, path.read_text(encoding="utf-8")) for path in paths)
    return [Module(path.relative_to(ROOT), text, ast.parse(text)) for path, text in texts]


def list_functions(modules: Sequence[Module]) -> Iterator[tuple[int, int]]:
    """Yield the lines and the parameters of every function, without self and cls."""
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names = [x.arg for x in (*node.args.posonlyargs, *node.args.args)]
                bound = names[:1] in (["self"], ["cls"])
                yield (
                    (node.end_lineno or 0) - node.lineno + 1,
                    len(names) + len(node.args.kwonlyargs) - bound,
                )


def list_names(modules: Sequence[Module]) -> Iterator[str]:
    """Yield every name that is bound: variables, fields, parameters."""
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.arg):
                yield node.arg


def count_repeated(modules: Sequence[Module]) -> int:
    """Count the public functions and classes that several modules define."""
    places = defaultdict(set)
    for module in modules:
        for node in module.tree.body:
            kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
            if isinstance(node, kinds) and node.name[0] != "_":
                places[node.name].add(module.path)
    return sum(len(paths) > 1 for paths in places.values())


def measure_comments(modules: Sequence[Module]) -> float:
    """Compute the number of comments for each line with code; docstrings are code."""
    comments, lines = 0, 0
    empty = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    for module in modules:
        covered: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
            if token.type == tokenize.COMMENT:
                comments += 1
            elif token.type not in empty:
                covered.update(range(token.start[0], token.end[0] + 1))
        lines += len(covered)
    return comments / lines


def count_entries(folder: Path) -> int:
    """Count the modules and packages of a folder; a list of like things, `LISTS`, has no limit."""
    if folder.relative_to(ROOT).as_posix() in LISTS:
        return 0
    modules = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
    return len(modules) + len([*folder.glob("*/__init__.py")])


def count_lines(pattern: str, folder: str = ".") -> int:
    """Count the lines of files, below a folder of the checkout."""
    files = [x for x in (ROOT / folder).rglob(pattern) if ROOT / ".venv" not in x.parents]
    return sum(path.read_text(encoding="utf-8").count("\n") for path in files)


def measure_house() -> dict[str, dict[str, float]]:
    """Compute all figures but the jumps, in the sections of `tests/house.toml`."""
    modules = read_modules()
    lines = Counter[str]()
    for module in modules:
        lines[module.path.parts[0]] += module.text.count("\n")
    sizes, parameters = zip(*list_functions(modules), strict=True)
    names = [*list_names(modules)]
    participles = read_limits()["words"]["participles"].split()
    folders = {ROOT / module.path.parent for module in modules}
    pages = sum(count_lines(kind, room) for room in ROOMS for kind in ("*.js", "*.html"))
    return {
        "lines": {
            **dict(sorted(lines.items())),
            "all": lines.total(),
            "pages": pages,
            "tests": count_lines("*.py", "tests"),
        },
        "code": {
            "modules": len(modules),
            "longest_module": max(module.text.count("\n") for module in modules),
            "longest_function": max(sizes),
            "functions_over_40_lines_in_1000": 1000 * sum(x > LONG for x in sizes) // len(sizes),
            "most_parameters": max(parameters),
            "participles_in_1000_names": 1000 * sum(x in participles for x in names) // len(names),
            "public_names_defined_twice": count_repeated(modules),
            "entries_of_a_folder": max(map(count_entries, folders)),
        },
        "at_least": {"comments_in_1000_lines": int(1000 * measure_comments(modules))},
    }


def measure_jumps(mirror: Path = MIRROR) -> dict[str, int]:
    """Count the jumps between files of each traced command, each in a new process."""
    from bench.page_turns import COMMANDS

    options = {"build": ["--languages", "en,fr,ru", "--mirror", str(mirror)]}
    jumps = {}
    for name in COMMANDS:
        command = [sys.executable, "-m", "bench", "page_turns", name, *options.get(name, ())]
        output = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        [turns] = re.findall(r"(\d+) page turns", output)
        jumps[name] = int(turns)
    return jumps


def write_limits(figures: Mapping[str, Mapping[str, float]]) -> None:
    """Replace the limits in `tests/house.toml` by figures; comments stay."""
    lines, section = [], ""
    for line in LIMITS.read_text(encoding="utf-8").splitlines():
        name, equals, rest = line.partition(" = ")
        if line.startswith("["):
            section = line.strip("[]")
        value = figures.get(section, {}).get(name) if equals else None
        if section == "lines" and value is not None:
            value = -(-value // STEP) * STEP
        reason = "  #" + rest.partition("#")[2] if "#" in rest else ""
        lines.append(line if value is None else f"{name} = {value}{reason}")
    LIMITS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(argv: Sequence[str] = ()) -> None:
    """Print the figures, and write them as limits if asked."""
    parser = argparse.ArgumentParser(prog="python -m bench house")
    parser.add_argument("--jumps", action="store_true", help="also trace the commands")
    parser.add_argument("--write", action="store_true", help="write the figures as limits")
    options = parser.parse_args(argv)
    figures = measure_house()
    if options.jumps:
        figures["jumps"] = dict(measure_jumps())
    for section, values in figures.items():
        print(f"{section}: {', '.join(f'{name} {value:,}' for name, value in values.items())}")
    if options.write:
        write_limits(figures)
