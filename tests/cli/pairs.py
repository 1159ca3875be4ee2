"""Run a command twice at the same moment, TIMES times: pairs.py TIMES COMMAND….

Prints a list of pairs of [status, output].

The two processes are forked from one that has imported everything, so that their work overlaps.
"""

import json
import os
import sys
import tempfile
import traceback
from pathlib import Path

from polyprobe.cli import main
from polyprobe.eval import evaluate_model  # noqa: F401 (imports torch before the fork)


def start(command: list[str], place: Path, gate: int) -> int:
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        with place.open("w") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        sys.argv = ["polyprobe", *command]
        os.read(gate, 1)
        main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(bool(end.code))
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(status)
    raise AssertionError


def run_pair(command: list[str]) -> list[tuple[int, str]]:
    with tempfile.TemporaryDirectory() as folder:
        places = [Path(folder) / name for name in "ab"]
        gate, key = os.pipe()
        children = [start(command, place, gate) for place in places]
        os.write(key, b"12")
        ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        os.close(gate)
        os.close(key)
        return [(end, place.read_text()) for end, place in zip(ends, places, strict=True)]


if __name__ == "__main__":
    print(json.dumps([run_pair(sys.argv[2:]) for _ in range(int(sys.argv[1]))]))
