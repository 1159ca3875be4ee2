"""Commands that need no model: they import no torch, and work where it is not installed."""

import json
from pathlib import Path

import pytest

from tests.hub.client import run_client
from tests.making.facts import write_facts
from tests.making.runs import SCORES, write_run

ROOT = Path(__file__).parents[1]
WITHOUT = """
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import polyprobe

MISSING = {"accelerate", "gguf", "google", "psutil", "safetensors", "sentencepiece", "torch",
           "transformers"}

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.split(".")[0] in MISSING else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Without
"""
COMMANDS = """
import contextlib, io
from polyprobe.cli import main

def run(line):
    sys.argv = ["polyprobe", *line]
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            main()
        except SystemExit as end:
            return [end.code or 0, out.getvalue()]
    return [0, out.getvalue()]
"""
IMPORTS = """
from importlib import import_module

root = Path(polyprobe.__file__).parent
names = ["polyprobe.eval", "polyprobe.analysis.compare.runs", "polyprobe.report.page.runs"]
for room in ("cli", "metrics", "publish", "schema", "system"):
    for path in sorted((root / room).rglob("*.py")):
        if path.name not in ("__init__.py", "app.py"):
            names.append(".".join(["polyprobe", *path.relative_to(root).with_suffix("").parts]))
for name in names:
    import_module(name)
answer = {"imported": len(names), "torch": "torch" in sys.modules}
"""


@pytest.mark.slow
def test_rooms_import_without_torch(tmp_path):
    found = run_client(WITHOUT + IMPORTS, home=tmp_path / "home")
    assert found["imported"] > 50
    assert not found["torch"]


@pytest.mark.slow
def test_commands_on_finished_runs_work_without_torch(tmp_path):
    facts = write_facts(tmp_path / "facts")
    write_run(tmp_path / "a", facts, SCORES)
    write_run(tmp_path / "b", facts, SCORES, model="other")
    dataset, metric = str(ROOT / "datasets" / "geofacts"), str(ROOT / "metrics" / "rankc")
    lines = [
        ["--help"],
        ["list"],
        ["cache", "info"],
        ["metrics", "a"],
        ["report", "a", "b", "--output", "report.html"],
        ["compare", "a", "b", "--resamples", "100"],
        ["export", "a", "--format", "csv"],
        ["audit", "geofacts"],
        ["build", "geofacts", "--config", "default", "--output", "built"],
        ["push", dataset, "me/geofacts", "--dry-run"],
        ["install", dataset, metric],  # the only one that loads `evaluate`
    ]
    code = f"answer = [[*run(line), 'eval' 'uate' in sys.modules] for line in {lines!r}]"
    code = f"{WITHOUT}{COMMANDS}{code}"
    answers = run_client(code, home=tmp_path / "home", folder=tmp_path)
    for line, (status, text, evaluates) in zip(lines, answers, strict=True):
        assert status == 0, (line, text)
        assert not evaluates or line[0] == "install", line
    assert (tmp_path / "a" / "report.html").stat().st_size < 100_000
    assert json.loads((tmp_path / "a" / "results.json").read_text())["accuracy"]


@pytest.mark.slow
def test_evaluating_without_torch_ends_in_one_line(tmp_path):
    lines = [["demo"], ["eval", "geolm", "--dataset", "geofacts", "--output", "run"]]
    code = f"{WITHOUT}{COMMANDS}answer = [run(line) for line in {lines!r}]"
    for status, text in run_client(code, home=tmp_path / "home"):
        assert status == 1
        assert text.startswith("error: evaluating needs the package ")
        assert text.endswith("pip install 'polyprobe[eval]'\n")
        assert text.count("\n") == 1
