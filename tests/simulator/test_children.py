"""Seeds with a process for each command, and kills and interrupts of all commands that write."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.acceptance
@pytest.mark.parametrize("words", [("0", "--seeds", "50", "--real"), ("--kills",)])
def test_no_killed_process_leaves_a_half_or_loses_a_whole(words):
    command = [sys.executable, "-m", "tests.simulator", *words]
    place = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
