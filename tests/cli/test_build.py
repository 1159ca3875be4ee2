import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from polyprobe.builder.recipes import RECIPES, REQUESTED
from polyprobe.cli.build import app
from polyprobe.system.messages import PolyprobeError
from tests.builder.tiny_facts import CAPITALS, make_facts, serve


def test_options_reach_the_builder(monkeypatch, tmp_path):
    calls = []

    def build_dataset(*arguments):
        calls.append(arguments)
        return tmp_path / "out"

    monkeypatch.setattr("polyprobe.builder.build.build_dataset", build_dataset)
    out = tmp_path / "out"
    options = [
        "--config",
        "17,17-repaired",
        "--config",
        "53",
        "--mirror",
        str(tmp_path),
        "--output",
        str(out),
    ]
    result = CliRunner().invoke(app, ["bmlama", *options])
    assert calls == [("bmlama", ("17", "17-repaired", "53"), tmp_path, out)]
    assert result.stdout == f"Wrote bmlama to {out}.\n"
    CliRunner().invoke(app, ["geofacts"])
    assert calls[1] == ("geofacts", [], None, None)


COMMANDS = typer.main.get_command(app).commands


def test_there_is_one_command_for_each_dataset_and_one_for_sentences():
    assert list(COMMANDS) == [*RECIPES, *REQUESTED, "sentences", "sheet"]
    assert CliRunner().invoke(app, ["nothing"]).exit_code == 2


@pytest.fixture
def tiny(monkeypatch):
    serve(monkeypatch, "tiny", CAPITALS)


def balanced(*options):
    return CliRunner().invoke(app, ["balanced", *map(str, options)])


def test_a_balanced_set_says_what_it_costs_builds_and_counts_what_it_leaves_out(tiny, tmp_path):
    options = [
        "--source",
        "tiny",
        "--languages",
        "en,el",
        "--languages",
        "en",
        "--candidates",
        "2",
        "--output",
    ]
    result = balanced(*options, tmp_path)
    assert result.exception is None
    lines = [line.replace("│", " ").split() for line in result.stdout.splitlines()]
    assert ["en", "4", "0", "1", "4"] in lines
    assert ["el", "3", "1", "1", "3"] in lines
    assert ["fr", "2", "1", "1", "2"] in lines
    assert lines.index(["fr", "2", "1", "1", "2"]) < lines.index(
        ["3", "of", "4", "facts;", "excluded:"]
    )
    assert ["no", "label", "in", "total", "1"] in lines
    assert ["no", "label", "el", "1"] in lines
    table = pq.read_table(tmp_path / "data" / "tiny-2" / "el.parquet")
    assert [len(row) for row in table["candidates"].to_pylist()] == [2, 2, 2]


def test_plan_builds_nothing_and_needs_no_languages(tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = balanced("--source", "tiny", "--plan")
    lines = [line.replace("│", " ").split() for line in result.stdout.splitlines()]
    assert [line[0] for line in lines if len(line) == 5] == ["en", "el", "fr"]
    assert not list(tmp_path.iterdir())


OF_TINY = "--source tiny --languages en,el "
MISTAKES = {
    "--source tiny --languages en,fx": "unknown language 'fx' in tiny; did you mean 'fr'? "
    "available: el, en, fr",
    OF_TINY
    + "--relations P63": "unknown relation 'P63' in tiny; did you mean 'P36'? available: P36",
    OF_TINY
    + "--exclude P36,P37": "unknown relation 'P37' in tiny; did you mean 'P36'? available: P36",
    OF_TINY + "--exclude P36": "--exclude leaves no relation of tiny; name fewer",
    OF_TINY + "--relations P36 --exclude P36": "--relations and --exclude both name P36; choose",
    OF_TINY + "--max-per-relation 0": "--max-per-relation must be at least 1, got 0",
    OF_TINY + "--labels german": "--labels german: it has none of en, el; available: de",
    OF_TINY
    + "--config ../x": "--config '../x': expected at most 80 letters, digits, '.', '-', '_'",
    OF_TINY + "--mirror nowhere": "no mirror folder nowhere",
    "--source tiny --plan --mirror nowhere": "no mirror folder nowhere",
    "--source mute --languages en": "no fact of mute has labels and a template or sentence in "
    "all of en (1 have labels); the fewest are complete in en (0 of 1): complete them there, or",
    "--source lonely --languages en": "no fact of lonely finds a distractor, another object of its",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_in_a_balanced_set_is_one_line(tiny, monkeypatch, tmp_path, line):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("polyprobe.builder.recipes.balanced.material.FALLBACK", "mute")
    names = {"en": {"Q1": "a", "Q2": "b"}}
    serve(monkeypatch, "german", make_facts([], {"de": {"Q1": "a"}}, {}))
    serve(monkeypatch, "mute", make_facts([("P1", "Q1", "Q2")], names, {}))
    serve(monkeypatch, "lonely", make_facts([("P1", "Q1", "Q2")], names, {"en": {"P1": "[X] [Y]"}}))
    error = balanced(*line.split()).exception
    assert isinstance(error, PolyprobeError)
    assert str(error).startswith(MISTAKES[line])
    assert "\n" not in str(error)
    assert not list(tmp_path.iterdir())
