"""Errors with sentence versions: mixed templates, old rows, passwords, bad options."""

import builtins
import sys

import pytest

from polyprobe.builder.build import build_dataset, build_sentences
from polyprobe.builder.output.folder import write_config
from polyprobe.builder.output.tables import markdown_table
from polyprobe.builder.recipes.sentences.build import is_last
from polyprobe.builder.translators import Translation, load_translator
from polyprobe.builder.translators.engines.apertium import Apertium
from polyprobe.system.errors import PolyprobeError
from tests.builder.sentences.phrases import (
    HU,
    NAMES,
    SENTENCE,
    Told,
    build,
    make_rows,
    phrasebook,
    read,
    read_outcomes,
)


def test_of_a_fact_in_two_templates_there_are_both_rows_or_none(tiny, monkeypatch):
    """Otherwise the remaining row would be assigned to the other template."""
    base = {language: [r for r in make_rows(language) for _ in "ab"] for language in NAMES}
    for rows in base.values():
        rows[1::2] = [r._replace(prompt=f"B: {r.prompt}", template_id="b") for r in rows[1::2]]
    monkeypatch.setattr(sys.modules["tiny_source"], "build", lambda *_: base)
    told = {("hu", s): text for s, text in zip(SENTENCE.values(), HU, strict=True)}
    told |= {("hu", f"B: {s}"): text for (_, s), text in list(told.items())}
    told["hu", SENTENCE["FR", "p"]] = Translation("", "empty")
    _, notes = build(tiny, Told(told))
    kept = [(row["fact_id"], row["template_id"]) for row in read(tiny, "hu")]
    assert kept == [(row.fact_id, row.template_id) for row in base["hu"][2:]]
    assert (notes.rows, notes.partial) == (6, 1)
    assert [row["row"] for row in read_outcomes(tiny, status="empty")] == [0]
    text = (tiny / "README.md").read_text("utf-8")
    assert "\nRows found in every language, but excluded because another row" in text
    assert " of their fact is lost: 1.\n" in text


def test_the_card_tells_that_the_configuration_was_built_anew(tiny):
    build(tiny, phrasebook())
    said = "**Out of date**: `default`"
    assert said not in (tiny / "README.md").read_text("utf-8")
    build_dataset("tiny", ["default", "more"], output=tiny)
    assert said not in (tiny / "README.md").read_text("utf-8")  # the same rows as before
    write_config(tiny, "default", {language: make_rows(language)[:3] for language in NAMES})
    build_dataset("tiny", ["more"], output=tiny)
    assert said in (tiny / "README.md").read_text("utf-8")
    _, notes = build(tiny, phrasebook())
    assert notes.rows == 3
    assert said not in (tiny / "README.md").read_text("utf-8")


def test_marks_of_direction_are_taken_out_and_hide_no_last_place(tiny):
    build(tiny, phrasebook(hu=[*HU[:2], "Anglia ura itt\u00a0ül: London\u200f.\u200e", HU[3]]))
    row = read(tiny, "hu")[2]
    assert (row["prompt"], row["object_last"]) == ("Anglia ura itt ül: [Y].", True)


@pytest.mark.parametrize(
    "prompt",
    ["¿Es [Y]?", "«[Y]».", 'Es "[Y]".', "Es ([Y])", "[Y]؟", "「[Y]」。", "[Y]।", "[Y]…", "[Y]։"],
)
def test_quotes_brackets_and_full_stops_of_any_script_leave_the_object_last(prompt):
    assert is_last(prompt)


def test_a_folder_of_models_that_is_not_there_is_a_mistake(tiny, tmp_path):
    with pytest.raises(PolyprobeError, match=f"no folder {tmp_path}/stanca; give --stanza one"):
        build(tiny, phrasebook(), stanza_dir=tmp_path / "stanca", lemmatizer="auto")


def test_a_missing_client_of_a_translator_is_one_line(tiny, monkeypatch):
    real = builtins.__import__

    def lack(name, *rest):
        if name == "httpx":
            raise ModuleNotFoundError("No module named 'httpx'", name="httpx")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", lack)
    options = {"languages": ["hu"], "lemmatizer": "none", "output": tiny}
    with pytest.raises(PolyprobeError, match="translator apertium needs the package httpx: pip "):
        build_sentences("tiny", "default", Apertium("http://127.0.0.1:9"), **options)


@pytest.mark.parametrize("name", ["apertium", "googletrans"])
def test_a_password_in_an_address_is_not_kept(name):
    option = {"apertium": "url", "googletrans": "base_url"}[name]
    with_password = load_translator(name, **{option: "http://me:secret@example.org:9/x"})
    without = load_translator(name, **{option: "http://example.org:9/x"})
    assert with_password.signature == without.signature
    assert "http://example.org:9/x" in without.signature


def test_a_password_is_not_in_the_line_of_an_engine_that_does_not_answer():
    with pytest.raises(PolyprobeError) as caught:
        Apertium("http://me:secret@127.0.0.1:9").check("en", "es")
    assert "secret" not in str(caught.value)


def test_a_translator_whose_signature_has_bars_does_not_break_a_table():
    table = markdown_table(("source", "home"), [("translated", "apertium|3.8 | 1.0")])
    assert table.splitlines()[2] == r"| translated | apertium\|3.8 \| 1.0 |"
