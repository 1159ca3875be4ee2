"""The workflow of docs/ci.md: bash runs its lines as GitHub does."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from safetensors.torch import load_file, save_file

from bench.gate import main
from polyprobe.scoring.embedded import __path__ as embedded
from tests.blocks.pages import ROOT, read_blocks

[WORKFLOW] = (x for x in read_blocks("docs/ci.md") if x.language == "yaml")
JOB = yaml.safe_load(WORKFLOW.text)["jobs"]["gate"]
# NEW by scenario: noise of its weights, an option of its evaluation, the status of the last line.
SCENARIOS = {"kept": (0.0, "", 0), "lost": (0.5, "", 1), "not-decidable": (0.0, "--sample 20", 2)}


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ci")
    (folder / "pip").write_text("#!/bin/sh\n", encoding="utf-8")  # polyprobe is installed here
    (folder / "pip").chmod(0o755)
    return folder


def degrade(folder, noise):
    """Copy geolm with noise in its weights, in units of their standard deviation."""
    import torch

    shutil.copytree(Path(embedded[0]) / "geolm", folder)
    torch.manual_seed(0)
    weights = load_file(folder / "model.safetensors")
    weights = {x: y + noise * y.std() * torch.randn_like(y) for x, y in weights.items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.slow
@pytest.mark.acceptance
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_workflow_ends_with_a_status(scenario, work):
    noise, option, status = SCENARIOS[scenario]
    place = work / scenario
    place.mkdir()
    degrade(place / "model", noise)
    path = f"{work}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    lines = [step["run"] for step in JOB["steps"] if "run" in step]
    assert len(lines) == 4
    for number, line in enumerate(lines):
        script = place / f"{number}.sh"
        script.write_text(f"{line} {option if number == 2 else ''}\n", encoding="utf-8")
        done = subprocess.run(
            ["bash", "-e", script],
            cwd=place,
            env={**os.environ, **JOB["env"], "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == (status if number == 3 else 0), done.stdout + done.stderr
    last = [x for x in done.stdout.splitlines() if x.startswith(scenario.replace("-", " ") + ": ")]
    assert last[0].split(": ")[1] == "accuracy"
    assert (place / "gate.html").is_file()


def test_the_table_of_power_is_the_one_that_is_kept(tmp_path, monkeypatch):
    kept = (ROOT / "bench" / "gate.md").read_text(encoding="utf-8").partition("Power:")[2]
    monkeypatch.setattr("bench.gate.__file__", str(tmp_path / "gate.py"))
    main(["1"])
    assert kept
    assert (tmp_path / "gate.md").read_text(encoding="utf-8").partition("Power:")[2] == kept
