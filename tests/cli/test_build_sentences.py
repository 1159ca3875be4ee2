from pathlib import Path

import pytest
from typer.testing import CliRunner

from polyprobe.builder import translators
from polyprobe.cli.build import app
from polyprobe.system.messages import PolyprobeError
from tests.builder.sentences.phrases import Told, phrasebook, tiny

__all__ = ["tiny"]


def run(*words):
    return CliRunner().invoke(app, ["sentences", *map(str, words)])


def test_a_sentence_version_is_built_and_its_costs_and_losses_are_shown(tiny, monkeypatch):
    made = []

    def load(name, **options):
        made.append((name, options))
        return phrasebook(Told, hu=["Semmi.", "Budapesten ül.", "London.", "Londonban ül."])

    monkeypatch.setattr("polyprobe.builder.build.load_translator", load)
    monkeypatch.setitem(translators.TRANSLATORS, "phrasebook", "Told")
    options = ["--translator", "phrasebook", "--translator-option", "url=http://a/?b=c"]
    more = ["--translator-option", "key=1", "--lemmatizer", "none", "--languages", "hu"]
    result = run("tiny", "--config", "default", *options, *more, "--output", tiny)
    assert result.exception is None
    assert made == [("phrasebook", {"url": "http://a/?b=c", "key": "1"})]
    lines = [line.replace("│", " ").split() for line in result.stdout.splitlines()]
    assert ["en", "4", "4", "4", "4", "0", "3", "3"] in lines
    assert ["hu", "4", "4", "3", "1", "1", "3", "1"] in lines
    assert ["hu", "no-object", "1"] in lines
    assert "translator: phrasebook|1; lemmatizer: hu: none" in result.stdout
    assert f"{tiny}/sentences/default-sentence.parquet" in result.stdout
    assert Path(tiny, "sentences/default-sentence.parquet").is_file()


VERSION = ("tiny", "--config", "default")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("fluent-mlama", "--config", "es", "--translator", "apertium"),
            "fluent-mlama has its own es-sentence: polyprobe build fluent-mlama --config",
        ),
        (
            (*VERSION, "--translator", "apertium", "--translator-option", "url"),
            "--translator-option: expected key=value, got 'url'",
        ),
    ],
)
def test_a_mistake_is_one_line(tiny, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    error = run(*words).exception
    assert isinstance(error, PolyprobeError)
    assert str(error).startswith(message)
    assert "\n" not in str(error)
    assert not list(tmp_path.iterdir())


def test_translators_named_in_the_line_are_those_there_are(tiny):
    for name in translators.TRANSLATORS:
        assert name in str(run(*VERSION, "--translator", "nobody").exception)
