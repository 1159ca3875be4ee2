"""Build of a sentence version: fixed Hungarian sentences, the real finder without lemmas."""

import builtins
import json
import sys
from collections import Counter
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from polyprobe.builder.build import build_balanced, build_dataset, build_sentences
from polyprobe.builder.output import folder as card
from polyprobe.builder.output.folder import markdown_table, relations_table, write_config
from polyprobe.builder.recipes.requests import BalancedRequest
from polyprobe.builder.recipes.sentences import (
    STATUSES,
    Outcome,
    is_last,
    reject_untranslated,
)
from polyprobe.builder.translators import Translation, load_translator
from polyprobe.builder.translators.engines.apertium import Apertium
from polyprobe.schema.columns import SENTENCES
from polyprobe.system.messages import PolyprobeError
from tests.builder.sentences import phrases
from tests.builder.sentences.phrases import (
    FACTS,
    HU,
    NAMES,
    SENTENCE,
    Phrasebook,
    Told,
    build,
    make_rows,
    phrasebook,
    read,
    read_outcomes,
    snapshot,
)
from tests.builder.tiny_facts import CAPITALS, serve


def test_the_object_is_cut_out_of_the_translation(tiny):
    folder, notes = build(tiny, phrasebook())
    assert folder == tiny
    assert [row["prompt"] for row in read(tiny, "hu")] == [
        "Franciaország ura [Y] ül.",
        "Magyarország ura [Y] ül.",
        "Anglia ura itt ül: [Y].",
        "Magyarország ura [Y] ül.",
    ]
    assert [row["candidates"] for row in read(tiny, "hu")] == [
        ["Párizsban", "Budapesten", "Londonban"],
        ["Párizsban", "Budapesten", "Londonban"],
        ["Párizs", "Budapest", "London"],  # London is uninflected here, and inflected below
        ["Párizsban", "Budapesten", "Londonban"],
    ]
    assert [row["answer_forms"] for row in read(tiny, "hu")] == [
        ["Párizs", "Párizsban"],
        ["Budapest", "Budapesten"],
        ["London"],
        ["London", "Londonban"],
    ]
    assert [row["object_last"] for row in read(tiny, "hu")] == [False, False, True, False]
    assert notes.rows == 4


def test_a_sentence_version_has_the_facts_of_its_configuration_and_english_its_rows(tiny):
    build(tiny, phrasebook())
    for language in ("en", "hu"):
        file = tiny / f"data/default-sentence/{language}.parquet"
        assert pq.read_schema(file).remove_metadata().equals(SENTENCES)
        for version, base in zip(
            read(tiny, language), read(tiny, language, "default"), strict=True
        ):
            same = ("fact_id", "relation", "subject_id", "object_id", "subject")
            for column in (*same, "candidate_ids", "answers", "template_id"):
                assert version[column] == base[column]
    added = {"object_last": True, "confidence": 100.0}
    assert read(tiny, "en") == [row | added for row in read(tiny, "en", "default")]


def test_terms_are_the_labels_of_subject_and_answer(tiny):
    translator = phrasebook()
    build(tiny, translator)
    terms = {"France": "Franciaország", "Paris": "Párizs"}
    assert translator.asked[0] == ("Who rules France sits in Paris.", terms)


LOST = {
    "no-answer": (Translation("", "no answer: HTTP 429 five times"), "HTTP 429 five times"),
    "empty": (Translation("", "empty"), "empty"),
    "unchanged": (Translation(SENTENCE["FR", "p"], "unchanged"), "unchanged"),
    "no-object": ("Senki se tudja.", "no words like 'Párizs'"),
    "bad-slot": ("Párizsban [X] ül.", "the sentence contains [X]"),
}


@pytest.mark.parametrize("status", LOST)
def test_every_lost_row_has_its_status_and_reason(tiny, status):
    answer, reason = LOST[status]
    _, notes = build(tiny, phrasebook(hu=[answer, *HU[1:]]))
    [lost] = [row for row in read_outcomes(tiny) if row["status"] != "found"]
    assert (lost["language"], lost["row"], lost["fact_id"]) == ("hu", 0, "P36:FR:p")
    assert lost["status"] == status
    assert reason in lost["reason"]
    assert notes.lost.rows() == [("hu", status, 1)]
    assert [row["fact_id"] for row in read(tiny, "hu")] == [
        ":".join(("P36", *f)) for f in FACTS[1:]
    ]
    assert [row["fact_id"] for row in read(tiny, "en")] == [
        ":".join(("P36", *f)) for f in FACTS[1:]
    ]


def test_all_statuses_but_the_collision_of_test_forms_were_tried():
    assert {*LOST, "found", "collision"} == set(STATUSES)


def test_what_is_left_as_in_english_is_not_an_answer_unless_it_is_the_label(tiny):
    """London is Londain in Irish, and London in Hungarian."""
    told = phrasebook(r0="Páras: suíonn.", r2="Tá sé i London.")
    build(tiny, told, ("hu", "ga"))
    [hungarian, irish] = [read_outcomes(tiny, language=code, row=2)[0] for code in ("hu", "ga")]
    assert (hungarian["status"], hungarian["form"]) == ("found", "London")
    assert (irish["status"], irish["form"]) == ("no-object", "")
    assert irish["reason"] == "'London' was left as it is, for 'Londain'"


def test_the_subject_is_not_an_answer_where_it_is_most_like_it(tiny):
    """As by Apertium: the language was not translated, the country was."""
    rows = phrases.make_rows("en")[0], phrases.make_rows("hu")[0]
    english = rows[0]._replace(subject="Slovenia", candidates=["Slovenian"], answers=[0])
    row = rows[1]._replace(subject="Eslovenia", candidates=["esloveno"], answers=[0])
    found = Outcome("es", 0, "f", "e", "Eslovenia: Slovenian.", "esloveno", "Eslovenia", 0, 9, 85.0)
    lost = reject_untranslated(found, english, row)
    assert (lost.status, lost.form, lost.end) == ("no-object", "", 0)
    assert lost.reason == "no words like 'esloveno' but the subject, 'Eslovenia'"
    right = found._replace(form="eslovenos", score=90.0)
    assert reject_untranslated(right, english, row) == right
    equal = row._replace(subject="Eslovenos")  # as Luxembourg is the capital of Luxembourg
    certain = right._replace(score=100.0)
    assert reject_untranslated(certain, english, equal) == certain


def test_outcomes_are_every_row_in_every_language_and_tell_where_the_object_is(tiny):
    build(tiny, phrasebook())
    rows = read_outcomes(tiny)
    assert [(row["language"], row["row"]) for row in rows] == [
        (language, number) for language in ("en", "hu") for number in range(4)
    ]
    for row in rows:
        assert row["translation"][row["start"] : row["end"]] == row["form"] != ""
        assert (row["status"], row["reason"]) == ("found", "")
    assert [row["english"] for row in rows] == [*SENTENCE.values()] * 2


def test_costs_count_what_each_language_has_and_lacks_alone(tiny):
    """Irish has rows 1 and 3, Hungarian 0, 1 and 2: one row in common."""
    translator = phrasebook(
        hu=[*HU[:3], Translation("", "empty")],
        r1="Búdaipeist: ina shuí.",
        r2="Níl aon rud.",
        r3="Tá sé i Londain.",
    )
    _, notes = build(tiny, translator, ("hu", "ga"))
    head = ["language", "asked", "translated", "found", "last", "alone", "kept", "kept_last"]
    assert notes.costs.columns == head
    assert notes.costs.rows() == [
        ("en", 4, 4, 4, 4, 0, 1, 1),
        ("ga", 4, 3, 2, 1, 2, 1, 0),
        ("hu", 4, 3, 3, 1, 1, 1, 0),
    ]
    assert sorted(notes.lost.rows()) == [
        ("ga", "no-answer", 1),
        ("ga", "no-object", 1),
        ("hu", "empty", 1),
    ]
    for line in notes.costs.iter_rows(named=True):
        lost = notes.lost.filter(language=line["language"])["rows"].sum()
        assert line["found"] + lost == line["asked"]


def test_of_several_answers_the_first_is_reported(tiny, monkeypatch):
    base = {language: phrases.make_rows(language)[:1] for language in NAMES}
    two = {lang: [row._replace(answers=[1, 0]) for row in rows] for lang, rows in base.items()}
    monkeypatch.setattr(sys.modules[phrases.TINY], "build", lambda *_: two)
    told = {("hu", "Who rules France sits in Budapest."): "Franciaország ura Budapesten ül."}
    build(tiny, Told(told))
    [row] = read(tiny, "hu")
    assert row["answers"] == [1, 0]
    assert row["candidates"] == ["Párizs", "Budapesten", "London"]


class Stopped(Phrasebook):
    """A translator interrupted at the third sentence."""

    batch_size = 1
    concurrency = 1

    async def ask(self, batch, source, target):
        if len(self.asked) == 2:
            raise KeyboardInterrupt
        return await super().ask(batch, source, target)


def test_an_interrupted_build_goes_on_and_ends_in_the_same_bytes(tiny, cache):
    stopped = phrasebook(Stopped)
    with pytest.raises(KeyboardInterrupt):
        build(tiny, stopped)
    assert not (tiny / "data" / "default-sentence").exists()
    again = phrasebook(Phrasebook)
    build(tiny, again)
    assert stopped.asked + again.asked == list(SENTENCE.values())
    at_once = tiny.with_name("at_once")
    (cache / "translations.sqlite").unlink()
    build(at_once, phrasebook(Phrasebook))
    assert snapshot(tiny) == snapshot(at_once)


def test_the_configuration_stays_and_the_card_tells_of_both(tiny):
    build_dataset("tiny", ["default"], output=tiny)
    before = (tiny / "data/default/hu.parquet").stat()
    build(tiny, phrasebook(hu=[Translation("", "empty"), *HU[1:]]))
    assert (tiny / "data/default/hu.parquet").stat() == before
    text = (tiny / "README.md").read_text(encoding="utf-8")
    assert "of its own: default\n" in text  # a source does not mention versions
    assert "config_name: default\n  default: true" in text
    assert "3 of 4 rows. Translator: `phrasebook|1`. Lemmatizer: hu: none." in text
    assert "| hu | 4 | 3 | 3 | 1 | 1 | 3 | 1 |" in text
    assert "| hu | empty | 1 |" in text
    assert "| `object_last` | `bool` |" in text
    build_dataset("tiny", ["more"], output=tiny)
    assert "### `default-sentence`" in (tiny / "README.md").read_text(encoding="utf-8")


def test_a_sentence_version_made_otherwise_is_not_replaced(tiny):
    build(tiny, phrasebook())
    before = snapshot(tiny)
    build(tiny, phrasebook())  # the same build again
    assert snapshot(tiny) == before
    other = phrasebook()
    other.signature = "phrasebook|2"
    for translator, options in ((phrasebook(), {"threshold": 80}), (other, {})):
        with pytest.raises(PolyprobeError, match="holds another default-sentence, made by `polyp"):
            build(tiny, translator, **options)
    assert snapshot(tiny) == before


def test_notes_are_in_every_file(tiny):
    build(tiny, phrasebook())
    metadata = pq.read_schema(tiny / "data/default-sentence/hu.parquet").metadata
    notes = json.loads(metadata[b"polyprobe"])
    assert notes["command"] == (
        "polyprobe build sentences tiny --config default --translator phrasebook --languages hu "
        "--lemmatizer none --threshold 75 --source-language en"
    )
    assert (notes["twin_of"], notes["translator"]) == ("default", "phrasebook|1")


def test_where_nothing_is_found_the_table_of_outcomes_says_why(tiny):
    with pytest.raises(PolyprobeError) as caught:
        build(tiny, phrasebook(hu=["Semmi."] * 4))
    assert str(caught.value) == (
        "no fact of default was found in every language (hu no-object 4); see "
        f"{tiny}/sentences/default-sentence.parquet"
    )
    assert len(read_outcomes(tiny, status="no-object")) == 4
    assert not (tiny / "data/default-sentence").exists()


def test_a_killed_first_build_of_a_sentence_version_leaves_a_folder_that_is_ours(tiny):
    for name in ("data/.default-sentence.new", "sentences"):
        (tiny / name).mkdir(parents=True)
    build(tiny, phrasebook())
    assert len(read(tiny, "hu")) == 4


class Untold(Told):
    def check(self, source, target):
        raise PolyprobeError(f"no {target}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"config": "defualt"}, "unknown configuration 'defualt' in tiny; did you mean 'default'?"),
        (
            {"config": "default-sentence"},
            "--config 'default-sentence': expected a configuration of templates",
        ),
        ({"dataset": "tyni"}, "unknown dataset 'tyni' in polyprobe; did you mean 'tiny'?"),
        ({"languages": ["hu", "hx"]}, "unknown language 'hx' in tiny/default; did you mean 'hu'?"),
        ({"source_language": "eng"}, "unknown language 'eng' in tiny/default; did you mean 'en'?"),
        ({"languages": ["en"]}, "nothing to translate: en is the source language; name others"),
        ({"translator": "gogletrans"}, "unknown translator 'gogletrans' in polyprobe; did you me"),
        ({"translator": Untold({})}, "no hu"),
        (
            {"dataset": "balanced", "config": "tiny-2"},
            "no configuration tiny-2 in {folder}; build it first: polyprobe build balanced --source"
            " SOURCE --languages en,… --config tiny-2",
        ),
    ],
)
def test_a_mistake_is_one_line_before_any_work(tiny, arguments, message):
    translator = phrasebook()
    told = {"dataset": "tiny", "translator": translator, "languages": ["hu"], "output": tiny}
    with pytest.raises(PolyprobeError) as caught:
        build_sentences(**(told | arguments))
    assert str(caught.value).startswith(message.format(folder=tiny))
    assert "\n" not in str(caught.value)
    assert not translator.asked


@pytest.mark.parametrize("name", ["balanced", "bmlama", "geofacts"])
def test_cards_of_datasets_with_english_have_a_place_for_sentence_versions(name):
    assert card.read_prose(name).count("<!-- sentences -->") == 1


GREEK = {
    "The capital of Greece is Athens.": "Πρωτεύουσα είναι η Αθήνα.",
    "The capital of Peru is Lima.": "Πρωτεύουσα είναι η Λίμα.",
    "The capital of Chad is N'Djamena.": "Πρωτεύουσα είναι η Εντζαμένα.",
}


def test_a_balanced_set_gets_its_sentence_version_and_further_sets_beside_it(monkeypatch, tmp_path):
    serve(monkeypatch, "tiny", CAPITALS)
    build_balanced(BalancedRequest("tiny", ("en", "el"), candidates=2), output=tmp_path)
    translator = Told({("el", sentence): text for sentence, text in GREEK.items()})
    build_sentences("balanced", "tiny-2", translator, lemmatizer="none", output=tmp_path)
    assert {row["prompt"] for row in read(tmp_path, "el", "tiny-2-sentence")} == {
        "Πρωτεύουσα είναι η [Y]."
    }
    build_balanced(BalancedRequest("tiny", ("en", "fr"), config="more"), output=tmp_path)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    for heading in ("### `more`", "### `tiny-2`", "### `tiny-2-sentence`"):
        assert text.count(heading + "\n") == 1
    assert "polyprobe build sentences balanced --config tiny-2 --translator phrasebook" in text
    assert "config_name: more\n  default: true" in text


# Errors with sentence versions: mixed templates, old rows, passwords, bad options.


def test_of_a_fact_in_two_templates_there_are_both_rows_or_none(tiny, monkeypatch):
    """Otherwise the remaining row would be assigned to the other template."""
    base = {language: [r for r in make_rows(language) for _ in "ab"] for language in NAMES}
    for rows in base.values():
        rows[1::2] = [r._replace(prompt=f"B: {r.prompt}", template_id="b") for r in rows[1::2]]
    monkeypatch.setattr(sys.modules[phrases.TINY], "build", lambda *_: base)
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


def test_a_name_of_a_relation_is_one_cell_of_the_card():
    config = SimpleNamespace(name="default", relations=Counter(["a|b\n![x](http://h)"]))
    card = relations_table([config], {"a|b\n![x](http://h)": "c\\|d"})
    assert card.splitlines()[2:] == [r"| a\|b !\[x\](http://h) | c\\\|d | 1 |"]
