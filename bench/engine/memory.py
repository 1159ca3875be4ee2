"""Peak memory of `polyprobe eval` with SmolLM2-135M on parts of BMLAMA-17."""

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from .contexts import read_rows, write_examples
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
CONTEXT, CONTEXT_SAMPLE, CONTEXT_TARGET = 3000, 2000, 2.5e9
COMMAND = "from polyprobe.cli import run; run()"
IMPORTS = "import polyprobe.eval.evaluate"


class Peak(NamedTuple):
    """The peak memory of a process, the size of its float32 weights, and the target, in bytes."""

    what: str
    peak: int
    weights: int
    target: float
    seconds: float


def measure(setting: Setting, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return the peaks of two runs and, for comparison, of the libraries alone."""
    model = setting.models / "decoder"
    weights = weigh(model / "model.safetensors")
    sample, behind = setting.rows or SAMPLE, setting.rows or CONTEXT_SAMPLE
    system = write_examples(read_rows(setting, "en"), set(), CONTEXT, model)
    chat = ["--sample", behind, "--no-donor", "--chat", "--system", system]
    runs = {
        f"{LANGUAGES}, {sample} facts each": (1.5 * weights + 1e9, LANGUAGES, ["--sample", sample]),
        f"en, {behind:,} rows behind {CONTEXT:,} tokens": (CONTEXT_TARGET, "en", chat),
    }
    peaks = []
    for what, (target, languages, options) in runs.items():
        with tempfile.TemporaryDirectory() as folder:
            arguments = [
                "eval", model, "--dataset", setting.dataset, "--config", "17", "--device", "cpu",
                "--languages", languages, "--output", Path(folder) / "run", *options,
            ]  # fmt: skip
            run = _run(setting, folder, ["-c", COMMAND, *map(str, arguments)])
            peaks.append(
                Peak(f"`polyprobe eval`, {what}", run["peak"], weights, target, run["seconds"])
            )
    with tempfile.TemporaryDirectory() as folder:
        alone = _run(setting, folder, ["-c", IMPORTS])
    peaks.append(Peak("the libraries alone", alone["peak"], 0, 0, alone["seconds"]))
    return [peak._asdict() for peak in peaks]


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
