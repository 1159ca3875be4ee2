import re

import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from polyprobe.builder.recipes.table import BALANCED, RECIPES, load_source
from polyprobe.cli.build import build
from polyprobe.system.errors import PolyprobeError
from tests.builder.tiny_facts import CAPITALS, make_facts, serve

app = typer.Typer()
app.command()(build)


def test_options_reach_the_builder(monkeypatch, tmp_path):
    calls = []

    def build_dataset(*arguments):
        calls.append(arguments)
        return tmp_path / "out"

    monkeypatch.setattr("polyprobe.builder.build.build_dataset", build_dataset)
    out = tmp_path / "out"
    options = ["--config", "17", "--config", "53", "--mirror", str(tmp_path), "--output", str(out)]
    result = CliRunner().invoke(app, ["bmlama", *options])
    assert calls == [("bmlama", ("17", "53"), tmp_path, out)]
    assert result.stdout == f"bmlama lies in {out}\n"
    CliRunner().invoke(app, ["geofacts"])
    assert calls[1] == ("geofacts", (), None, None)


def test_a_mistake_is_one_line():
    result = CliRunner().invoke(app, ["nothing"])
    assert isinstance(result.exception, PolyprobeError)
    known = "balanced, bmlama, fluent-mlama, geofacts"
    assert str(result.exception) == f"unknown dataset 'nothing' in polyprobe; available: {known}"


def test_the_help_names_every_dataset_and_configuration():
    of_name, of_config = (
        next(x.help for x in typer.main.get_command(app).params if x.name == name)
        for name in ("name", "config")
    )
    assert set(re.findall(r"[a-z-]+", of_name.partition(": ")[2])) - {"or"} == {*RECIPES, BALANCED}
    told = {
        name: re.findall(r"[\w-]+", listed)
        for name, listed in re.findall(r"([\w-]+): ([^.]*)\.", of_config)
    }
    assert tuple(told["bmlama"]) == load_source("bmlama").CONFIGS
    fluent = [x for x in told["fluent-mlama"] if x not in ("each", "also", "with", "-sentence")]
    twins = [f"{x}-sentence" for x in fluent if "-" not in x]
    assert sorted([*fluent, *twins]) == sorted(load_source("fluent-mlama").CONFIGS)
    assert {*RECIPES} - {*told} == {"geofacts"}  # has but one, the default


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
        "--output",
        tmp_path,
    ]
    result = balanced(*options, "--candidates", 2)
    assert result.exception is None
    lines = [line.replace("│", " ").split() for line in result.stdout.splitlines()]
    assert ["en", "4", "0", "1", "4"] in lines
    assert ["el", "3", "1", "1", "3"] in lines
    assert ["fr", "2", "1", "1", "2"] in lines
    assert lines.index(["fr", "2", "1", "1", "2"]) < lines.index(
        ["3", "of", "4", "facts;", "left", "out:"]
    )
    assert ["no", "label", "el", "1"] in lines
    table = pq.read_table(tmp_path / "data" / "tiny-2" / "el.parquet")
    assert [len(row) for row in table["candidates"].to_pylist()] == [2, 2, 2]


def test_plan_builds_nothing_and_needs_no_languages(tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = balanced("--source", "tiny", "--plan")
    lines = [line.replace("│", " ").split() for line in result.stdout.splitlines()]
    assert [line[0] for line in lines if len(line) == 5] == ["en", "el", "fr"]
    assert not list(tmp_path.iterdir())


TINY = ("--source", "tiny", "--languages", "en,el")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "balanced needs --source, as --source mpararel"),
        (("--source", "tiny"), "--languages is needed to build; --plan alone shows what they cost"),
        (
            ("--source", "mpararell", "--languages", "en"),
            "unknown source 'mpararell' in polyprobe; did you mean 'mpararel'? available: ",
        ),
        (
            ("--source", "tiny", "--languages", "en,fx"),
            "unknown language 'fx' in tiny; did you mean 'fr'? available: el, en, fr",
        ),
        (
            (*TINY, "--relations", "P63"),
            "unknown relation 'P63' in tiny; did you mean 'P36'? available: P36",
        ),
        (
            (*TINY, "--exclude", "P36,P37"),
            "unknown relation 'P37' in tiny; did you mean 'P36'? available: P36",
        ),
        ((*TINY, "--exclude", "P36"), "--exclude leaves no relation of tiny; name fewer"),
        (
            (*TINY, "--relations", "P36", "--exclude", "P36"),
            "--relations and --exclude both name P36; choose one",
        ),
        (
            (*TINY, "--candidates", 1),
            "--candidates 1: a query needs the answer and a distractor, 2 or more",
        ),
        ((*TINY, "--max-per-relation", 0), "--max-per-relation 0: expected 1 or more"),
        (
            (*TINY, "--labels", "tiny"),
            "--labels tiny: its labels are those of --source already; name another",
        ),
        (
            (*TINY, "--labels", "xfakt"),
            "unknown source 'xfakt' in --labels; did you mean 'xfactr'?",
        ),
        (
            (*TINY, "--labels", "german"),
            "--labels german: it has none of en, el; available: de",
        ),
        (
            (*TINY, "--config", "a", "--config", "b"),
            "balanced builds one configuration, --config names 2",
        ),
        (
            (*TINY, "--config", "../x"),
            "--config '../x': expected at most 80 letters, digits, '.', '-', '_'",
        ),
        ((*TINY, "--mirror", "nowhere"), "no mirror folder nowhere"),
        (("--source", "tiny", "--plan", "--mirror", "nowhere"), "no mirror folder nowhere"),
        (
            ("--source", "mute", "--languages", "en"),
            "no fact of mute can be asked in every language asked for (1 have labels in all of "
            "them; no sentence at all in en); leave some out, --plan shows their cost",
        ),
        (
            ("--source", "lonely", "--languages", "en"),
            "no fact of lonely finds a distractor in its relation; ask for more relations or "
            "fewer languages",
        ),
    ],
)
def test_a_mistake_in_a_balanced_set_is_one_line(tiny, monkeypatch, tmp_path, options, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("polyprobe.builder.recipes.balanced.material.FALLBACK", "mute")
    names = {"en": {"Q1": "a", "Q2": "b"}}
    serve(monkeypatch, "german", make_facts([], {"de": {"Q1": "a"}}, {}))
    serve(monkeypatch, "mute", make_facts([("P1", "Q1", "Q2")], names, {}))
    serve(monkeypatch, "lonely", make_facts([("P1", "Q1", "Q2")], names, {"en": {"P1": "[X] [Y]"}}))
    error = balanced(*options).exception
    assert isinstance(error, PolyprobeError)
    assert str(error).startswith(message)
    assert "\n" not in str(error)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "option"),
    [
        (("--languages", "en"), "languages"),
        (("--seed", "0"), "seed"),
        (("--max-per-relation", "3"), "max-per-relation"),
        (("--plan",), "plan"),
    ],
)
def test_options_of_a_balanced_set_are_no_options_of_another(options, option):
    error = CliRunner().invoke(app, ["bmlama", *options]).exception
    assert isinstance(error, PolyprobeError)
    assert str(error) == f"--{option} is an option of balanced, not of bmlama"


def test_configurations_follow_their_option_in_every_spelling(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(
        "polyprobe.builder.build.build_dataset",
        lambda name, configs, *_: calls.append((name, list(configs))) or tmp_path,
    )
    for words in (
        ["--config", "17-repaired", "53-repaired"],
        ["--config", "17-repaired,53-repaired"],
        ["--config", "17-repaired", "--config", "53-repaired"],
    ):
        assert CliRunner().invoke(app, ["bmlama", *words]).exit_code == 0
    assert calls == [("bmlama", ["17-repaired", "53-repaired"])] * 3
    stray = CliRunner().invoke(app, ["bmlama", "17"])
    assert str(stray.exception) == "what is '17'? configurations follow --config"
