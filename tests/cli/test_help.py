"""`--help` of every command has an example that the command accepts; `polyprobe list`."""

import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from polyprobe.cli import app
from polyprobe.cli.list import KINDS
from polyprobe.schema.locate import list_datasets
from polyprobe.scoring.scorers import SCORINGS

ROOT = typer.main.get_command(app)


def find_commands(command=ROOT, name="polyprobe"):
    """Return {words: command} of all commands without subcommands."""
    inside = getattr(command, "commands", None)
    if inside is None:
        return {name: command}
    parts = (find_commands(part, f"{name} {word}") for word, part in inside.items())
    return {words: found for part in parts for words, found in part.items()}


COMMANDS = find_commands()


@pytest.mark.parametrize("words", COMMANDS)
def test_the_help_has_an_example_that_works(words):
    epilog = COMMANDS[words].epilog
    assert epilog.startswith(f"Example: {words}")
    given = epilog.removeprefix(f"Example: {words}").split()
    with COMMANDS[words].make_context(words, given) as context:  # checks the options
        assert not context.args
    shown = CliRunner().invoke(app, [*words.split()[1:], "--help"], env={"COLUMNS": "200"})
    assert epilog in shown.output


def test_the_names_of_every_kind_are_listed():
    shown = CliRunner().invoke(app, ["list"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    for name in (*KINDS, *list_datasets(), "build own", "rankc_subject", *SCORINGS, "apertium"):
        assert f"{name} " in f"{shown.output} ", name
    alone = CliRunner().invoke(app, ["list", "scorings"], env={"COLUMNS": "200"}).output
    assert [line.split()[0] for line in alone.splitlines()] == ["scorings", *SCORINGS]


def test_a_command_ends_without_pythons_teardown():
    """The teardown would wait for the thread without end; what is registered for exit runs."""
    code = (
        "import atexit, sys, threading\nfrom polyprobe.cli import run\n"
        "sys.argv[1:] = ['list', 'scorings']\natexit.register(print, 'removed')\n"
        "threading.Thread(target=threading.Event().wait).start()\nrun()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100
    )
    assert done.stdout.split()[0] == "scorings"
    assert done.stdout.splitlines()[-1] == "removed"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, of Linux")
def test_output_to_a_full_disk_is_one_line():
    code = "import sys; from polyprobe.cli import run; sys.argv[1:] = ['list']; run()"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "error: No space left on device\n")
