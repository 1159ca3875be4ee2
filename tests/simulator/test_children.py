"""Seeds with a process for each command, kills of all commands that write, and planted faults.

The 2,000 seeds of `test_simulated.py` take as long: files run in parallel.
"""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.acceptance
@pytest.mark.parametrize("words", [("0", "--seeds", "50", "--real"), ("--kills",), ("--mutants",)])
def test_no_kill_leaves_a_half_and_every_planted_fault_is_found(words):
    command = [sys.executable, "-m", "tests.simulator", *words]
    place = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
