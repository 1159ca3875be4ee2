"""Names without an owner are found or refused without a request to the Hub."""

import re

import pytest

from tests.hub.client import run_client, run_polyprobe
from tests.making.facts import write_facts

MISTAKES = {
    "eval geolm --dataset geofact --output r": "no dataset 'geofact' .*did you mean 'geofacts'?",
    "eval geoml --dataset geofacts --output r": "unknown model 'geoml'; did you mean 'geolm'?",
    "audit geofact": "no dataset 'geofact' .*did you mean 'geofacts'?",
    "export geofact --format lm-eval": "no such folder: geofact; did you mean datasets/geofacts?",
    "install geofact": "no such folder: geofact; did you mean datasets/geofacts?",
    "push rank me/rank": "no such folder: rank; did you mean metrics/rankc?",
    "push run me/run": "run is a run, not a dataset; polyprobe export writes its results",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_mistakes_ask_no_hub(line, hub, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").touch()
    done = run_polyprobe(*line.split(), home=tmp_path / "home", folder=tmp_path, endpoint=hub.url)
    assert done.returncode == 1
    assert re.match(f"error: .*{MISTAKES[line].replace('?', '[?]')}", done.stderr)
    assert done.stderr.count("\n") == 1
    assert hub.requests == []


def test_an_installed_dataset_is_loaded_without_the_hub(hub, tmp_path):
    """The same name with an owner asks: the stand-in Hub counts what it is asked."""
    write_facts(tmp_path / "facts")
    code = f"""
from polyprobe.publish.install import install_dataset
from polyprobe.schema.load import find_default, load_facts
from polyprobe.system.messages import PolyprobeError
from pathlib import Path
install_dataset(Path({str(tmp_path / "facts")!r}))
answer = [find_default("facts"), *load_facts("facts", languages="RU,en")]
"""
    home = tmp_path / "home"
    assert run_client(code, home=home, endpoint=hub.url) == ["small", "ru", "en"]
    assert hub.requests == []
    asked = """
from polyprobe.schema.load import load_facts
try:
    answer = [*load_facts("me/facts")]
except Exception as error:
    answer = str(error)
"""
    assert run_client(asked, home=home, endpoint=hub.url).startswith("no dataset 'me/facts'")
    assert hub.requests
