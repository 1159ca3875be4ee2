"""Balanced sets with written sentences or translated templates."""

from dataclasses import replace

import polars as pl
import pytest

from polyprobe.builder.facts import TEMPLATES
from polyprobe.builder.recipes.balanced import material
from polyprobe.builder.recipes.requests import BalancedRequest
from polyprobe.builder.sources import mlama, xfactr
from polyprobe.builder.translators import Translator
from polyprobe.builder.translators import templates as translated_templates
from polyprobe.system.messages import PolyprobeError
from tests.builder.tiny_facts import make_facts

TEXTS = {"[X] lies in [Y].": "[X] ligt in [Y].", "[X] is near [Y].": "[X] is dichtbij."}


class Phrasebook(Translator):
    """Translates two templates only."""

    def __init__(self, name):
        self.name = name
        self.signature = f"{name}|1"

    async def ask(self, batch, source, target):
        return [TEXTS.get(job.sentence, "dichtbij") for job in batch]


KNOWN = make_facts(
    facts=[("P1", "Q1", "Q2"), ("P2", "Q1", "Q2")],
    labels={"en": {"Q1": "Ghent", "Q2": "Belgium"}, "nl": {"Q1": "Gent", "Q2": "België"}},
    templates={"en": {"P1": "[X] lies in [Y].", "P2": "[X] is near [Y]."}},
)


def test_templates_are_translated_where_two_agree(monkeypatch, capsys):
    monkeypatch.setattr(translated_templates, "load_translator", lambda name: Phrasebook(name))
    request = BalancedRequest("tiny", ("en", "nl"), template_translators=("one", "two"))
    translated, engines = material.translate_missing(request, KNOWN, pl.DataFrame(schema=TEMPLATES))
    assert translated.rows() == [("nl", "P1", "translated:P1:0", "[X] ligt in [Y].")]
    assert engines == "one|1; two|1"
    assert "templates translated to nl: 1 of 2 kept" in " ".join(capsys.readouterr().err.split())
    made = material.assemble(request, KNOWN, translated, ["en", "nl"])
    assert set(made.templates["template"]) == {*KNOWN.templates["template"], "[X] ligt in [Y]."}


def test_one_alone_is_not_enough_unless_it_is_trusted(monkeypatch):
    monkeypatch.setattr(translated_templates, "load_translator", lambda name: Phrasebook(name))
    request = BalancedRequest("tiny", ("en", "nl"), template_translators=("one",))
    with pytest.raises(PolyprobeError, match="two translators must agree"):
        material.translate_missing(request, KNOWN, pl.DataFrame(schema=TEMPLATES))
    trusting = replace(request, trusted=("one",))
    assert (
        material.translate_missing(trusting, KNOWN, pl.DataFrame(schema=TEMPLATES))[0].height == 1
    )


def test_a_password_in_an_address_is_not_in_the_command():
    engine = "openai model=m base_url=http://me:secret@127.0.0.1:8000/v1"
    command = BalancedRequest("mlama", template_translators=(engine,), trusted=(engine,)).command
    assert "secret" not in command
    assert command.count("'openai model=m base_url=http://127.0.0.1:8000/v1'") == 2


def test_a_trusted_translator_that_is_not_asked_is_an_error():
    with pytest.raises(PolyprobeError, match="--trusted 'googletrans': expected a text of"):
        BalancedRequest("mlama", template_translators=("apertium",), trusted=("googletrans",))


def test_a_source_without_sentences_says_how_to_get_them():
    with pytest.raises(PolyprobeError, match="mlama has no sentences of its own; build its templ"):
        material.add_sentences(BalancedRequest("mlama", wording="sentence"), mlama, KNOWN, None)


def test_the_command_says_all_of_it():
    request = BalancedRequest(
        "xfactr",
        ("ru",),
        wording="sentence",
        unimorph="/u m",
        template_translators=("transformers model=a/b",),
        trusted=("transformers model=a/b",),
    )
    assert "--unimorph '/u m' --template-translator 'transformers model=a/b'" in request.command


def test_x_factr_s_sentences_are_written_out(upstream):
    """The Russian prompt asks for the locative, and for a verb that fits the subject."""
    known = make_facts(
        facts=[("P19", "Q7259", "Q84"), ("P19", "Q935", "Q84")],
        labels={"ru": {"Q7259": "Ада Лавлейс", "Q935": "Исаак Ньютон", "Q84": "Лондон"}},
        templates={},
    )
    request = BalancedRequest("xfactr", ("ru",), wording="sentence")
    told = material.add_sentences(request, xfactr, known, upstream)
    rows = told.prompts.select("subject_id", "prompt", "form").rows()
    assert [(row[0], row[2]) for row in rows] == [("Q7259", "Лондоне"), ("Q935", "Лондоне")]
    assert "родилась" in rows[0][1]
    assert "родился" in rows[1][1]


def test_a_folder_without_tables_of_the_languages_is_reported(upstream, tmp_path):
    request = BalancedRequest("xfactr", ("ru",), wording="sentence", unimorph=str(tmp_path))
    with pytest.raises(PolyprobeError, match="has no UniMorph table of ru; expected files as rus"):
        material.add_sentences(request, xfactr, KNOWN, upstream)
