"""A version that several files pin is the same in all of them."""

import re
from pathlib import Path

import pytest

from polyprobe.publish.harness.tasks import LIGHTEVAL, LM_EVAL

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("harness", [LM_EVAL, LIGHTEVAL])
def test_tasks_are_for_the_harness_that_make_installs(harness):
    name, version = harness.split()
    made = (ROOT / "Makefile").read_text()
    pins = re.findall(r"(lm_eval|lighteval)(?:\[[a-z,]+\])?==([\d.]+)", made)
    assert (name.replace("-", "_"), version) in pins
    head = (ROOT / "bench" / "harness.md").read_text("utf-8").partition("\n")[0]
    assert harness in head


def test_spaces_run_the_gradio_that_was_tested():
    pin = re.search(r"^gradio==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)[1]
    cards = sorted(ROOT.glob("metrics/*/README.md"))
    assert len(cards) >= 10
    for card in cards:
        assert f"\nsdk_version: {pin}\n" in card.read_text("utf-8"), card


def test_pre_commit_runs_the_ruff_of_make_lint():
    pin = re.search(r"^ruff==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)[1]
    assert f"rev: v{pin} " in (ROOT / ".pre-commit-config.yaml").read_text()
