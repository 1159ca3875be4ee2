"""The demo: the embedded model knows the facts of its training data only."""

import json
import re
from itertools import combinations

import pytest

from bench.geolm import GEOLM
from polyprobe.cli.runs import OTHERS, TRAINED
from tests.blocks.pages import missing_line, read_blocks
from tests.hub.client import run_polyprobe


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    done = run_polyprobe("demo", home=folder / "home", folder=folder, offline=True)
    assert done.returncode == 0, done.stderr
    (folder / "printed").write_text(done.stdout)
    return folder


@pytest.fixture(scope="module")
def results(folder):
    return json.loads((folder / "demo-run" / "results.json").read_text())


@pytest.mark.slow
@pytest.mark.acceptance
def test_the_readme_shows_what_the_demo_prints(folder):
    printed = (folder / "printed").read_text()
    assert "report: demo-run/report.html" in printed
    [shown] = [b.text for b in read_blocks("README.md") if b.text.startswith("language  ")]
    assert missing_line(shown, printed) is None
    cells = [line.split("│")[1].strip() for line in printed.splitlines() if line.startswith("│")]
    rows = [re.split(r"  +", line)[0] for line in shown.splitlines()[1:]]
    assert rows == cells  # also the floors that exceed the model


@pytest.mark.slow
@pytest.mark.acceptance
def test_accuracy_is_high_where_trained_and_near_chance_elsewhere(results):
    chance = results["chance"]["accuracy"]
    for language in TRAINED:
        assert results["accuracy"][language] > 0.75, language
    others = [results["accuracy"][language] for language in OTHERS]
    assert abs(sum(others) / len(others) - chance) < 0.07
    assert max(others) < 0.3


@pytest.mark.slow
@pytest.mark.acceptance
def test_trained_languages_agree_and_others_do_not(results):
    def mean(pairs):
        return sum(results["rankc_adjusted"][f"{a}-{b}"] for a, b in pairs) / len(pairs)

    among_trained = mean(list(combinations(TRAINED, 2)))
    across = mean([(a, b) for a in TRAINED for b in OTHERS])
    among_others = mean(list(combinations(OTHERS, 2)))
    assert among_trained > 0.6
    assert abs(across) < 0.1
    assert abs(among_others) < 0.15


def test_the_demo_names_the_languages_of_the_training():
    assert GEOLM.languages == TRAINED
    assert not set(TRAINED) & set(OTHERS)
    assert len(TRAINED) + len(OTHERS) >= 12
