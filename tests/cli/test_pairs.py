"""Two processes run the same command at the same moment: complete files, or one line of error."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from polyprobe.eval import evaluate_model
from tests.making import tiny
from tests.making.facts import write_facts

PAIRS = 2
SCRIPT = Path(__file__).with_name("pairs.py")
# The ways to write: a run and its store, files of a run, files of a folder, a folder, a cache.
COMMANDS = {
    "eval": "eval {place}/model --dataset {place}/facts --output new",
    "metrics": "metrics run --resamples 50",
    "export": "export {place}/facts --format lm-eval --output tasks",
    "build": "build geofacts --config default --output built",
    "install": "install metrics/rankc {place}/facts",
    "cache clear": "cache clear",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    write_facts(folder / "facts")
    tiny.save_model("gpt2", folder / "model")
    evaluate_model(str(folder / "model"), str(folder / "facts"), output=folder / "run")
    return folder


@pytest.mark.acceptance
@pytest.mark.parametrize("name", COMMANDS)
def test_pairs_of_a_command(name, place, tmp_path):
    command = COMMANDS[name].format(place=place).split()
    once, twice = tmp_path / "once", tmp_path / "twice"
    for folder in (once, twice):
        shutil.copytree(place / "run", folder / "run")
    call([shutil.which("polyprobe", path=Path(sys.executable).parent), *command], once)
    pairs = json.loads(call([sys.executable, SCRIPT, str(PAIRS), *command], twice))
    for pair in pairs:
        assert 0 in [status for status, _ in pair], pair
        for status, output in pair:
            assert "Traceback" not in output
            assert status == 0 or output.splitlines()[-1].startswith("error: "), output
    assert contents(twice) == contents(once)


def call(command, folder):
    environment = {**os.environ, "POLYPROBE_CACHE": str(folder / "cache")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def contents(folder):
    """Read the files by their names; tasks of lm-eval have the absolute path of their rows."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".sqlite")
    own = bytes(folder)
    return {str(path.relative_to(folder)): path.read_bytes().replace(own, b"") for path in files}
