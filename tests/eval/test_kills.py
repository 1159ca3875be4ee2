"""Thirty SIGKILLs in one run give the files of an uninterrupted run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.making import tiny
from tests.making.facts import number_subjects, write_facts
from tests.making.runs import read_files
from tests.making.stores import rows

SCRIPT = Path(__file__).with_name("kill_runs.py")


def rows_in(cache):
    [file] = cache.rglob("*.sqlite")
    return rows(file)


@pytest.mark.slow
@pytest.mark.acceptance
def test_a_run_killed_thirty_times_gives_the_same_bits(tmp_path):
    model = tiny.save_model("gpt2", tmp_path / "model")
    facts = write_facts(tmp_path / "facts", spoil=number_subjects, copies=100)

    def run(output, kills, cache):
        done = subprocess.run(
            [sys.executable, str(SCRIPT), str(model), str(facts), str(output), str(kills), "20"],
            env={**os.environ, "POLYPROBE_CACHE": str(cache), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        return [int(n) for n in done.stdout.split()]

    assert run(tmp_path / "whole", 0, tmp_path / "cache-1") == [0, 0]
    assert run(tmp_path / "killed", 30, tmp_path / "cache-2") == [30, 0]
    assert read_files(tmp_path / "killed") == read_files(tmp_path / "whole")
    assert rows_in(tmp_path / "cache-2") == rows_in(tmp_path / "cache-1")
