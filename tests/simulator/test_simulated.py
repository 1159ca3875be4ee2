"""Seeds on the simulated machine, and the schedules themselves."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulator.faults import KINDS, Fault
from tests.simulator.schedule import draw_schedule, shorten


@pytest.mark.acceptance
def test_no_seed_of_two_thousand_fails():
    command = [sys.executable, "-m", "tests.simulator", "0", "--seeds", "2000"]
    place = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


def test_a_seed_gives_one_schedule_and_the_seeds_all_kinds():
    schedules = [draw_schedule(seed) for seed in range(300)]
    assert schedules == [draw_schedule(seed) for seed in range(300)]
    faults = [f for schedule in schedules for step in schedule.steps for f in step.faults]
    assert {fault.kind for fault in faults} == {*KINDS}
    assert draw_schedule(1, real=True) == draw_schedule(1, real=True)
    kinds = {
        fault.kind
        for seed in range(300)
        for step in draw_schedule(seed, real=True).steps
        for fault in step.faults
    }
    assert kinds == {"kill", "interrupt", "torn", "full", "second"}


@pytest.mark.parametrize(
    ("fault", "at"),
    [
        (Fault("rename", 0.0), 1), (Fault("rename", 0.99), 4), (Fault("kill", 0.999), 11),
        (Fault("slow", 0.5), 1),
    ],
)  # fmt: skip
def test_a_fault_is_at_its_share_of_the_operations(fault, at):
    assert fault.place({"rename": 4, "write": 6}) == at


def test_a_schedule_is_shortened_to_the_fault_that_fails():
    seeds = (draw_schedule(seed) for seed in range(300))
    schedule = next(x for x in seeds if len(x.steps) > 9 and len(list_faults(x)) > 1)
    cause = list_faults(schedule)[-1]
    short = shorten(schedule, lambda smaller: cause in list_faults(smaller))
    assert list_faults(short) == [cause]
    assert len(short.steps) == 1


def list_faults(schedule):
    return [fault for step in schedule.steps for fault in step.faults]
