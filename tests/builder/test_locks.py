"""Builds of one folder at the same time wait for each other."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from polyprobe.system.files import locked
from tests.making.waiting import PATIENCE

POLYPROBE = Path(sys.executable).with_name("polyprobe")


def test_a_build_waits_for_the_one_before(tmp_path):
    folder = tmp_path / "geofacts"
    command = [POLYPROBE, "build", "geofacts", "--output", folder]
    with locked(folder), subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr.readline() == (
            f"another process is writing to {folder}; waiting for it\n"
        )
        assert {path.name for path in folder.iterdir()} == {".lock"}
        assert process.poll() is None
        process.kill()


@pytest.mark.acceptance
def test_three_configurations_at_once_are_listed_once(tmp_path):
    """Three processes, each of its own configuration of one dataset."""
    code = (
        "import sys; from pathlib import Path\n"
        "from polyprobe.builder import build\n"
        "from polyprobe.builder.recipes.geofacts import build as recipe\n"
        "build.list_recipe_configs = lambda name: ('default', 'second', 'third')\n"
        "rows = recipe.build('default', None)\n"
        "recipe.build = lambda config, mirror: {x: rows[x] for x in ('en', 'fr', 'el')}\n"
        "build.choose_configs = lambda name, configs: configs\n"
        "build.build_dataset('geofacts', [sys.argv[1]], None, Path(sys.argv[2]))\n"
    )
    folder = tmp_path / "geofacts"
    run = [sys.executable, "-c", code]
    configs = ("default", "second", "third")
    processes = [subprocess.Popen([*run, config, folder]) for config in configs]
    assert [process.wait(PATIENCE) for process in processes] == [0, 0, 0]
    card = yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---")[1])
    assert [config["config_name"] for config in card["configs"]] == [*configs]
    assert sorted(path.name for path in (folder / "data").iterdir()) == [*configs]
    assert not (folder / ".lock").exists()
