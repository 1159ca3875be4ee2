"""Measure the processor time of each command on the embedded data, imports apart.

    python -m bench commands [ROUNDS]       writes bench/commands.md

Every command runs in a process of its own with one thread. The modules that it has imported at its
end are then imported, and nothing else is done, in another process.
"""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.machine import find_cpu
from polyprobe.tests.making.boards import write_many

ROUNDS = 3
LANGUAGES = "en,es,ru,ar,zh,hi,el,hy,ka,ko,ta,th"  # those of `polyprobe demo`
EVALUATE = f"eval geolm --dataset geofacts --languages {LANGUAGES} --output run"
BOARDS = " ".join(f"boards/run{n}" for n in range(30))
COMMANDS = (
    "--help",
    "list",
    EVALUATE,
    "metrics run",
    "report run --output report.html",
    "compare run run2 --resamples 1000",
    "export run --format csv",
    "groups run --by relation",
    "relate run --with script",
    f"board {BOARDS} --output board",
    "audit geofacts",
    "build geofacts --output built",
)
HEAVY = ("torch", "transformers", "evaluate", "datasets", "scipy")
RUN = """
import json, sys
from polyprobe.cli import main
try:
    main()
finally:
    open("modules.json", "w").write(json.dumps([*sys.modules]))
"""
IMPORT = """
import json
from importlib import import_module
for name in json.load(open("modules.json")):
    try:
        import_module(name)
    except Exception:  # a part of a package that cannot be imported by itself
        pass
"""
HEAD = """\
# Processor time of the commands

Written by `python -m bench commands`. Rounds: {rounds} (medians), one thread of {cpu}. The run has
the 12 languages of `polyprobe demo`, each of the board's 30 runs has 53. "Imports" is a process
that only imports the same modules.

| command | processor time, s | imports, s | heavy packages |
| --- | --- | --- | --- |
"""


def main(argv: Sequence[str]) -> None:
    """Measure all commands and write the page."""
    rounds = int(argv[0]) if argv else ROUNDS
    lines = []
    with TemporaryDirectory() as place:
        folder = Path(place)
        write_many(folder / "boards")
        for command in COMMANDS:
            seconds = median(_measure(command, folder) for _ in range(rounds))
            modules = (folder / "modules.json").read_text()
            heavy = ", ".join(name for name in HEAVY if f'"{name}"' in modules)
            alone = median(_run(IMPORT, "", folder) for _ in range(rounds))
            shown = command.replace(LANGUAGES, "…").replace(BOARDS, "30 runs")
            lines.append(f"| `polyprobe {shown}` | {seconds:.2f} | {alone:.2f} | {heavy or '–'} |")
            print(lines[-1], flush=True)
    page = HEAD.format(rounds=rounds, cpu=find_cpu()) + "\n".join(lines) + "\n"
    Path(__file__).with_suffix(".md").write_text(page, encoding="utf-8")


def _measure(command: str, folder: Path) -> float:
    """Return the processor seconds of a command; an evaluation begins anew, its copy is `run2`."""
    if command == EVALUATE:
        for name in ("run", "run2", "cache"):
            shutil.rmtree(folder / name, ignore_errors=True)
    seconds = _run(RUN, command, folder)
    if command == EVALUATE:
        shutil.copytree(folder / "run", folder / "run2")
    return seconds


def _run(program: str, command: str, folder: Path) -> float:
    """Return the processor seconds of a program; exit with its output if it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", program, *command.split()],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", "POLYPROBE_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(
            f"{command or 'imports'} failed:\n{done.stdout[-500:]}{done.stderr[-500:]}"
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
