"""Run seeds of the simulator, see the package."""

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .schedule import Schedule
    from .simulator import Broken, Simulator

SHARED = Path("/dev/shm")  # in memory
MOST = 400  # seeds until a planted fault is found


def main() -> int:
    """Run the command; its status is 1 if a seed fails, or a planted fault is not found."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulator")
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds")
    parser.add_argument("--shorten", action="store_true", help="show the shortest schedule")
    parser.add_argument("--real", action="store_true", help="processes and signals")
    parser.add_argument("--kills", action="store_true", help="kills and interrupts of each command")
    parser.add_argument("--mutants", action="store_true", help="find each planted fault")
    options = parser.parse_args()
    place = SHARED if os.access(SHARED, os.W_OK) else Path(tempfile.gettempdir())
    root = Path(tempfile.mkdtemp(prefix="simulator-", dir=place)) / "world"
    os.environ |= {
        "POLYPROBE_CACHE": str(root / "cache"), "HF_HOME": str(root / "hf"), "OMP_NUM_THREADS": "1",
        "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "COLUMNS": "300",
        "HF_HUB_DISABLE_TELEMETRY": "1", "HF_UPDATE_DOWNLOAD_COUNTS": "0",
    }  # fmt: skip
    sys.dont_write_bytecode = True  # it holds the times of files, which a world does not keep
    try:
        return run(root, options)
    finally:
        shutil.rmtree(root.parent, ignore_errors=True)


def run(root: Path, options: argparse.Namespace) -> int:
    """Run what the options say."""
    from .schedule import draw_schedule, list_kills
    from .simulated import simulate

    start, out = time.perf_counter(), sys.stdout
    if options.real or options.kills:
        from .children import fork_children as simulate
    with simulate(root) as simulator:
        if options.mutants:
            return find_mutants(simulator, out)
        seeds = range(options.seed, options.seed + options.seeds)
        schedules = {f"seed {x}": draw_schedule(x, options.real) for x in seeds}
        if options.kills:
            schedules = list_kills(options.seed)
        failed = sum(not check(simulator, *x, options, out) for x in schedules.items())
        seconds, used = time.perf_counter() - start, sum(os.times()[:4])
        counts = f"{len(schedules)} schedules, {simulator.runs} runs of commands, {failed} failed"
        print(f"{counts}, {seconds:.0f} s, {used:.0f} s of processor time", file=out)
    return 1 if failed else 0


def find_error(simulator: "Simulator", schedule: "Schedule") -> "Broken | None":
    """Run a schedule and return what does not hold."""
    from .simulator import Broken

    try:
        simulator.run(schedule)
    except Broken as error:
        return error
    return None


def check(
    simulator: "Simulator",
    name: str,
    schedule: "Schedule",
    options: argparse.Namespace,
    out: Any,
) -> bool:
    """Run a schedule; print it if it fails."""
    from .schedule import shorten

    if options.seeds == 1 and not options.kills:
        print(schedule, file=out)
    error = find_error(simulator, schedule)
    if error is None:
        return True
    print(f"{name}: {schedule}\n    {error}", file=out, flush=True)
    if options.shorten:

        def fails(smaller: "Schedule") -> bool:
            return getattr(find_error(simulator, smaller), "rule", "") == error.rule

        short = shorten(schedule, fails)
        print(f"shortest: {short}", file=out, flush=True)
    return False


def find_mutants(simulator: "Simulator", out: Any) -> int:
    """Print the first seed that finds each planted fault."""
    from .mutants import MUTANTS, planted
    from .schedule import draw_schedule
    from .simulator import Simulator

    missed = 0
    for name in MUTANTS:
        with planted(name):
            spoilt = Simulator(simulator.machine, simulator.empty)
            seeds = (seed for seed in range(MOST) if find_error(spoilt, draw_schedule(seed)))
            seed = next(seeds, None)
            missed += seed is None
            rule = seed is not None and find_error(spoilt, draw_schedule(seed))
            print(f"{name}: seed {seed}: {str(rule)[:200]}", file=out, flush=True)
    return missed


if __name__ == "__main__":
    sys.exit(main())
