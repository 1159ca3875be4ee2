"""The demo: the embedded model knows what it was taught, and guesses elsewhere."""

import json
from itertools import combinations

import pytest

from polyprobe.cli.demo import TAUGHT, UNTAUGHT
from polyprobe.eval.embedded import train
from tests.blocks.output import missing_line
from tests.blocks.pages import read_blocks
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
def test_the_readme_shows_what_the_demo_prints(folder):
    printed = (folder / "printed").read_text()
    assert "report: demo-run/report.html" in printed
    [shown] = [b.text for b in read_blocks("README.md") if b.text.startswith("language  ")]
    assert missing_line(shown, printed) is None


@pytest.mark.slow
def test_accuracy_is_high_where_taught_and_near_chance_elsewhere(results):
    chance = results["chance"]["accuracy"]
    for language in TAUGHT:
        assert results["accuracy"][language] > 0.75, language
    untaught = [results["accuracy"][language] for language in UNTAUGHT]
    assert abs(sum(untaught) / len(untaught) - chance) < 0.07
    assert max(untaught) < 0.3


@pytest.mark.slow
def test_taught_languages_agree_and_others_do_not(results):
    def mean(pairs):
        return sum(results["rankc_adjusted"][f"{a}-{b}"] for a, b in pairs) / len(pairs)

    among_taught = mean(list(combinations(TAUGHT, 2)))
    across = mean([(a, b) for a in TAUGHT for b in UNTAUGHT])
    among_untaught = mean(list(combinations(UNTAUGHT, 2)))
    assert among_taught > 0.6
    assert abs(across) < 0.1
    assert abs(among_untaught) < 0.15


def test_the_demo_names_the_languages_that_were_taught():
    assert TAUGHT == train.TAUGHT
    assert not set(TAUGHT) & set(UNTAUGHT)
    assert len(TAUGHT) + len(UNTAUGHT) >= 12
