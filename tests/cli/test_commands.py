"""The command line: output and error messages."""

import json
import sys

import pytest

from polyprobe import __version__
from polyprobe.cli import main
from tests.hub.client import run_polyprobe
from tests.making import tiny
from tests.making.facts import CITIES, write_facts


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    tiny.save_model("gpt2", folder / "model")
    write_facts(folder / "datasets" / "facts")
    return folder


@pytest.fixture
def polyprobe(place, tmp_path):
    return lambda *arguments: run_polyprobe(
        *map(str, arguments), home=tmp_path / "home", folder=place, offline=True
    )


@pytest.fixture
def here(place, monkeypatch, capsys):
    """Run the command in this process; return its status and its lines on standard error."""

    def run(*arguments):
        monkeypatch.chdir(place)
        monkeypatch.setattr(sys, "argv", ["polyprobe", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, capsys.readouterr().err.strip().splitlines()

    return run


def test_version_is_that_of_the_package(polyprobe):
    assert polyprobe("--version").stdout.strip() == f"polyprobe {__version__}"


def test_eval_then_metrics_then_report(polyprobe, tmp_path):
    run = tmp_path / "run"
    first = polyprobe("eval", "model", "--dataset", "facts", "--output", run)
    assert first.returncode == 0, first.stderr
    for language in CITIES:
        assert language in first.stdout
    assert f"report: {run}/report.html" in first.stdout.replace("\n", "")
    kept = (run / "results.json").read_text()
    (run / "results.json").unlink()
    (run / "report.html").unlink()
    again = polyprobe("metrics", run)
    assert again.returncode == 0, again.stderr
    assert (run / "results.json").read_text() == kept
    assert "<html" in (run / "report.html").read_text()
    page = tmp_path / "page.html"
    assert polyprobe("report", run, "--output", page).returncode == 0
    assert json.loads(kept)["signature"].split("|")[0] in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--languages", "en,xx"], "unknown language 'xx' in facts; available: en, ru, zh_hans"),
        (["--config", "huge"], "unknown configuration 'huge' in facts; available: small"),
        (
            ["--languages", "ZH-Hant"],
            "unknown language 'ZH-Hant' in facts; did you mean 'zh_hans'?",
        ),
    ],
)
def test_mistakes_end_in_one_line(arguments, message, here, tmp_path):
    command = ["eval", "model", "--dataset", "facts", "--output", tmp_path / "run"]
    status, errors = here(*command, *arguments)
    assert status == 1
    [line] = [line for line in errors if "error" in line]
    assert message in line
    assert not (tmp_path / "run").exists()
