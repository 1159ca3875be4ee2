"""Build of a sentence version: fixed Hungarian sentences, the real finder without lemmas."""

import json
import sys

import pyarrow.parquet as pq
import pytest

from polyprobe.builder.build import build_balanced, build_dataset, build_sentences
from polyprobe.builder.output import card
from polyprobe.builder.recipes.balanced.request import BalancedRequest
from polyprobe.builder.recipes.sentences.outcomes import (
    STATUSES,
    Outcome,
    reject_untranslated,
)
from polyprobe.builder.translators import Translation
from polyprobe.schema.columns import SENTENCES
from polyprobe.system.errors import PolyprobeError
from tests.builder.sentences import phrases
from tests.builder.sentences.phrases import (
    FACTS,
    HU,
    NAMES,
    SENTENCE,
    Phrasebook,
    Told,
    build,
    phrasebook,
    read,
    read_outcomes,
)
from tests.builder.tiny_facts import CAPITALS, serve


def snapshot(folder) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


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
    monkeypatch.setattr(sys.modules["tiny_source"], "build", lambda *_: two)
    told = {("hu", "Who rules France sits in Budapest."): "Franciaország ura Budapesten ül."}
    build(tiny, Told(told))
    [row] = read(tiny, "hu")
    assert row["answers"] == [1, 0]
    assert row["candidates"] == ["Párizs", "Budapesten", "London"]


class Stopped(Phrasebook):
    """A translator interrupted at the third sentence."""

    batch_size = 1
    concurrency = 1

    async def ask(self, batch, source, target, terms):
        if len(self.asked) == 2:
            raise KeyboardInterrupt
        return await super().ask(batch, source, target, terms)


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
