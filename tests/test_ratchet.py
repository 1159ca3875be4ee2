"""The figures of the house do not get worse than the limits in house.toml."""

import pytest

from bench.house import measure_house, measure_jumps, read_limits

LIMIT = read_limits()
REMEDY = "make it better, or raise the limit in tests/house.toml with the reason"


@pytest.fixture(scope="module")
def figures():
    return measure_house()


@pytest.mark.parametrize("section", ["lines", "code"])
def test_no_figure_is_above_its_limit(figures, section):
    assert figures[section].keys() == LIMIT[section].keys()
    worse = {
        k: f"{v} > {LIMIT[section][k]}"
        for k, v in figures[section].items()
        if v > LIMIT[section][k]
    }
    assert not worse, f"{worse}: {REMEDY}"


def test_no_figure_is_below_its_limit(figures):
    for name, value in figures["at_least"].items():
        assert value >= LIMIT["at_least"][name], f"{name} is {value}: {REMEDY}"


@pytest.mark.acceptance
@pytest.mark.upstream
def test_no_command_jumps_more_often_between_files(upstream):
    for name, turns in measure_jumps(upstream).items():
        assert turns <= LIMIT["jumps"][name], f"{name}: {turns} jumps between files: {REMEDY}"
