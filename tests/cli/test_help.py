"""`--help` of every command has an example that the command accepts; `polyprobe list`."""

import ast
import re
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


def test_a_path_in_the_list_is_readable(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(app, ["list", "datasets"], env={"COLUMNS": "300"}).output
    assert "../" not in shown
    assert str(Path(__file__).parents[2] / "datasets" / "geofacts") in shown


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


# The commands that run the code of a place; elsewhere a text may name any command's options.
PLACES = {
    "analysis/board": ["board"],
    "analysis/compare": ["compare"],
    "analysis/groups": ["groups"],
    "analysis/relate": ["relate"],
    "builder/recipes/balanced": ["build balanced"],
    "builder/recipes/own": ["build own"],
    "builder/recipes/sentences": ["build sentences"],
    "publish/checks.py": ["push"],
    "publish/export": ["export"],
    "publish/harness": ["export"],
    "publish/hub.py": ["push", "export"],
    "publish/install.py": ["install"],
    "publish/push.py": ["push"],
    "schema/columns.py": ["push"],  # as `eval`, which has more options
}


# Options of other programs that a place runs: of comet-score.
FOREIGN = {"analysis/compare": {"--model", "--quiet", "--to"}}


def list_advice(path):
    """Yield the texts of a file that name options, without the values that are filled in."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts = {id(part) for x in ast.walk(tree) if isinstance(x, ast.JoinedStr) for part in x.values}
    notes = {id(x.value) for x in ast.walk(tree) if isinstance(x, ast.Expr)}  # docstrings
    for node in ast.walk(tree):
        values = node.values if isinstance(node, ast.JoinedStr) else [node]
        texts = [x.value for x in values if isinstance(x, ast.Constant) and id(x) not in notes]
        text = " ".join(x for x in texts if isinstance(x, str))
        if id(node) not in parts and re.search(r"(?<![\w-])--[a-z]", text):
            yield node.lineno, text


@pytest.mark.parametrize("place", PLACES)
def test_no_message_names_an_option_that_its_command_lacks(place):
    options = {
        words.removeprefix("polyprobe "): {x for option in command.params for x in option.opts}
        for words, command in COMMANDS.items()
    }
    root = Path(__file__).parents[2] / place
    for path in [root] if root.is_file() else sorted(root.rglob("*.py")):
        for line, text in list_advice(path):
            named = [name for name in options if f"polyprobe {name} " in f"{text} "]
            known = set().union(*(options[name] for name in (*PLACES[place], *named)))
            known |= FOREIGN.get(place, set())
            assert {*re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)} <= known, f"{path}:{line}"
