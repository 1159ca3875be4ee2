"""The command line: output and error messages."""

import json
import subprocess
import sys

import pytest

from polyprobe import __version__
from polyprobe.cli import main
from tests.hub.client import POLYPROBE, run_polyprobe
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


# Ctrl-C at the import of a module, and in typer's callbacks before a command has its own handler.
AT_IMPORT = """
import os, signal, sys

class Interrupt:
    def find_spec(name, path=None, target=None):
        if name == {module!r}:
            {action}

sys.meta_path.insert(0, Interrupt)
from polyprobe.__main__ import launch
sys.argv[:] = ["polyprobe", *{words!r}]
launch()
"""
INTERRUPTED = (130, "", "interrupted; run the same command again to resume\n")


def run_code(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "module", ["polyprobe.cli", "typer.core", "rich.table", "polyprobe.cli.list"]
)
def test_ctrl_c_during_imports_is_one_line(module):
    action = "os.kill(os.getpid(), signal.SIGINT)"
    assert run_code(AT_IMPORT.format(module=module, action=action, words=["list"])) == INTERRUPTED


def test_ctrl_c_in_a_command_s_imports_is_one_line():
    words = ["metrics", "nowhere"]
    code = AT_IMPORT.format(module="pyarrow", action="raise KeyboardInterrupt", words=words)
    assert run_code(code) == INTERRUPTED


@pytest.mark.parametrize("name", ["get_command", "get_param_callback"])
def test_ctrl_c_in_callbacks_is_one_line(name, here, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"typer.main.{name}", interrupt)
    assert here("list") == (130, [INTERRUPTED[2].strip()])


def test_an_import_that_fails_is_one_line():
    """As with little address space: `failed to map segment from shared object`."""
    action = "raise ImportError('failed to map segment', name='pyarrow')"
    code = AT_IMPORT.format(module="pyarrow", action=action, words=["metrics", "nowhere"])
    line = "error: cannot import pyarrow: failed to map segment\n"
    assert run_code(code) == (1, "", line)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("words", "status"), [("list scorings", 0), ("metrics nowhere", 1)])
def test_closed_streams_change_no_status(words, status, closed, tmp_path):
    line = f'"$@" {words} {closed}'
    done = subprocess.run(
        ["bash", "-c", line, "bash", *POLYPROBE], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == status
    assert b"Traceback" not in done.stderr


@pytest.mark.acceptance
def test_a_closed_output_does_not_get_into_files(place, tmp_path):
    """The first file of a process without standard output would get its number."""
    words = f"eval geolm --dataset geofacts --languages en --sample 4 --output {tmp_path}/run"
    line = f'"$@" {words} <&- >&- 2>&-'
    done = subprocess.run(["bash", "-c", line, "bash", *POLYPROBE], cwd=place, check=False)
    assert done.returncode == 0
    assert json.loads((tmp_path / "run" / "results.json").read_text())["accuracy"]["en"] >= 0
