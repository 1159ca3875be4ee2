"""Peak memory of `polyprobe eval` with SmolLM2-135M on a part of BMLAMA-17."""

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from .models import Setting

# Run a command and print its peak resident memory, with few imports: on Linux the peak of a child
# is at least the memory of its parent.
PEAK = """
import json
import os
import subprocess
import sys
import time

begin = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=sys.stderr)
_, status, usage = os.wait4(process.pid, 0)
seconds = time.perf_counter() - begin
print(json.dumps({"peak": usage.ru_maxrss * 1024, "seconds": seconds, "status": status}))
"""
SAMPLE, LANGUAGES = 200, "en,ru,zh"
COMMAND = "from polyprobe.cli import run; run()"
IMPORTS = "import polyprobe.eval.evaluate"


class Peak(NamedTuple):
    """The peak memory of a process and the size of its float32 weights, in bytes."""

    what: str
    peak: int
    weights: int
    seconds: float


def measure(setting: Setting, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return the peak of the run and, for comparison, of the libraries alone."""
    model = setting.models / "decoder"
    sample = setting.rows or SAMPLE
    with tempfile.TemporaryDirectory() as folder:
        arguments = [
            "eval", model, "--dataset", setting.dataset, "--config", "17", "--device", "cpu",
            "--languages", LANGUAGES, "--sample", sample, "--output", Path(folder) / "run",
        ]  # fmt: skip
        what = f"`polyprobe eval`, {LANGUAGES}, {sample} facts each"
        run = _run(setting, folder, ["-c", COMMAND, *map(str, arguments)])
        alone = _run(setting, folder, ["-c", IMPORTS])
    weights = weigh(model / "model.safetensors")
    return [
        Peak(what, run["peak"], weights, run["seconds"])._asdict(),
        Peak("the libraries alone", alone["peak"], 0, alone["seconds"])._asdict(),
    ]


def weigh(file: Path) -> int:
    """Return the bytes of a safetensors file's tensors in float32, shared tensors counted once."""
    with file.open("rb") as handle:
        size = int.from_bytes(handle.read(8), "little")
        tensors = json.loads(handle.read(size))
    return sum(4 * math.prod(t["shape"]) for name, t in tensors.items() if name != "__metadata__")


def _run(setting: Setting, folder: str, arguments: list[str]) -> dict[str, Any]:
    threads = {"OMP_NUM_THREADS": str(setting.threads), "POLYPROBE_CACHE": folder}
    log = setting.logs / "memory.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as errors:
        done = subprocess.run(
            [sys.executable, "-c", PEAK, sys.executable, *arguments],
            stdout=subprocess.PIPE,
            stderr=errors,
            env=os.environ | threads,
            check=True,
            text=True,
        )
    found = json.loads(done.stdout)
    if found["status"]:
        raise SystemExit(f"the run failed; its log ends:\n{log.read_text()[-2000:]}")
    return found
