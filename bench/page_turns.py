"""Count the page turns of a command: how often its next new function is in another file.

    python -m bench page_turns eval
    python -m bench page_turns build --languages en,fr,ru --mirror ../shared/upstream

Functions of polyprobe are listed in the order of their first call. Runs that a command reads are
made before, in other processes.
"""

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType
from typing import Any

import polyprobe
from bench.same_products import COMMAND

ROOT = str(Path(polyprobe.__file__).parent)
EVAL = ["eval", "geolm", "--dataset", "geofacts", "--languages", "en,es,ru", "--limit", "10"]
COMMANDS = {
    "eval": [*EVAL, "--output", "{folder}/out"],
    "build": ["build", "balanced", "--source", "mpararel", "--output", "{folder}/out"],
    "compare": ["compare", "{folder}/first", "{folder}/second"],
    "metrics": ["metrics", "{folder}/first"],
}
# Folders of runs, and the options by which they differ; of two protocols, so that gaps are compared
RUNS = {"first": [], "second": ["--scoring", "object-tokens"]}


def make_runs(folder: str, command: Sequence[str]) -> None:
    """Make the runs that a command reads."""
    for name, options in RUNS.items():
        if f"{{folder}}/{name}" not in command:
            continue
        arguments = [*EVAL, *options, "--output", f"{folder}/{name}"]
        subprocess.run(
            [sys.executable, "-c", COMMAND, *arguments], stdout=subprocess.DEVNULL, check=True
        )


def trace(arguments: Sequence[str]) -> list[tuple[str, str]]:
    """List (file, function) of every function of polyprobe, in the order of first calls."""
    from polyprobe.cli import main

    seen: dict[tuple[str, str], None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        function = code.co_flags & CO_OPTIMIZED and code.co_name[0] != "<"  # no class body
        file = code.co_filename.removeprefix(ROOT + "/")
        in_package = file != code.co_filename and file.endswith(".py") and file[0] != "."
        if event == "call" and function and in_package:
            seen.setdefault((file, code.co_qualname))

    sys.argv = ["polyprobe", *arguments]
    sys.setprofile(note)
    try:
        main()
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)
    return list(seen)


def main(argv: Sequence[str] = ()) -> None:
    """Print the number of functions, files and page turns, and the files entered most often."""
    name, *options = argv or ["eval"]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["POLYPROBE_CACHE"] = f"{folder}/cache"  # start with an empty cache
        make_runs(folder, COMMANDS[name])
        functions = trace([*(part.format(folder=folder) for part in COMMANDS[name]), *options])
    files = [file for file, _ in functions]
    entered = [file for file, before in zip(files, ["", *files], strict=False) if file != before]
    for file, function in functions:
        print(f"  {file}: {function}", file=sys.stderr)
    print(f"{name}: {len(files)} functions, {len(set(files))} files, {len(entered) - 1} page turns")
    print(", ".join(f"{file} ×{n}" for file, n in Counter(entered).most_common(8)))
