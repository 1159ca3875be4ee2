"""Prompts for language models, and how their answers are parsed."""

import logging
import os
import re
import sqlite3

import pytest

from polyprobe.builder.translators import load_translator
from polyprobe.builder.translators.engines.openai import (
    LIMIT,
    OpenAI,
    clean_answer,
    read_example_file,
    read_examples,
)
from polyprobe.system.download import CHECKSUM, cache_folder
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.sending import BrokenAnswerError, Pace

SENTENCE = "Ada Lovelace was born in London."
TERMS = {"Ada Lovelace": "Ada Lovelace", "London": "Londres"}
KEY = "sk-thisisnobodyskey1234567890"


def make(server, concurrency=4, **options):
    engine = OpenAI(base_url=server.openai, model="m", **options)
    engine.concurrency = concurrency
    engine.pace = Pace(tries=2, first_wait=0.001, longest_wait=0.01)
    return engine


def test_the_prompt_gives_the_names_translations_and_examples(server):
    make(server).translate([SENTENCE], "en", "es", [TERMS])
    [message] = server.bodies[0]["messages"]
    blocks = message["content"].split("\n\n")
    assert blocks[0].startswith("Translate from English into Spanish.")
    assert len(blocks) == 1 + 3 + 1
    assert blocks[1] == (
        "Sentence: Hypatia was born in Alexandria.\n"
        "Names: Hypatia = Hipatia; Alexandria = Alejandría\n"
        "Translation: Hipatia nació en Alejandría."
    )
    assert blocks[-1] == (
        f"Sentence: {SENTENCE}\nNames: Ada Lovelace = Ada Lovelace; London = Londres\nTranslation:"
    )


def test_own_examples_take_the_place_of_ours_and_are_part_of_the_key(server, tmp_path):
    first = '[[el.all]]\nsentence = "A."\nterms = { a = "α" }\ntranslation = "Α."\n'
    second = '[[el.all]]\nsentence = "B."\ntranslation = "Β."\n'
    examples, fewer = str(tmp_path / "two.toml"), str(tmp_path / "one.toml")
    (tmp_path / "two.toml").write_text(first + second, encoding="utf-8")
    (tmp_path / "one.toml").write_text(first, encoding="utf-8")
    assert make(server).translate([SENTENCE], "en", "el", [TERMS]) == [SENTENCE.upper()]
    for _ in range(2):  # cached the second time
        make(server, examples=examples).translate([SENTENCE], "en", "el", [TERMS])
    assert len(server.bodies) == 2
    assert (
        "Sentence: A.\nNames: a = α\nTranslation: Α.\n\nSentence: B.\nTranslation: Β.\n\n"
        in (server.bodies[1]["messages"][0]["content"])
    )
    other = make(server, examples=fewer)
    assert other.sign("en", "el") != make(server, examples=examples).sign("en", "el")


def test_texts_depend_on_terms_model_and_temperature(server):
    engine = make(server)
    terms = [TERMS, TERMS | {"London": "Londra"}, dict(reversed(TERMS.items()))]
    engine.translate([SENTENCE] * 3, "en", "es", terms)
    assert len(server.sentences) == 2  # the order of the terms does not matter
    make(server, temperature="default").translate([SENTENCE], "en", "es", [TERMS])
    assert len(server.sentences) == 3
    assert "temperature" not in server.bodies[-1]
    other = OpenAI(base_url=server.openai, model="n")
    other.translate([SENTENCE], "en", "es", [TERMS])
    assert len(server.sentences) == 4


def test_our_examples_hold_their_names():
    """The sentence contains each name's translation, or its beginning if it is inflected."""
    for code in ("es", "ca", "fr", "de", "ru", "uk", "cs"):
        examples = read_examples("en", code)
        assert len(examples) == 3
        for example in examples:
            for label, translated in example.terms.items():
                assert label in example.sentence
                for word in translated.split():
                    assert word[: max(3, len(word) - 3)].rstrip("аяoe") in example.translation
    assert read_examples("fr", "es") == read_examples("en", "sw") == ()


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("Oslo está en Noruega.", "Oslo está en Noruega."),
        ("  Oslo.\n\n", "Oslo."),
        ('"Oslo está en Noruega."', "Oslo está en Noruega."),
        ("«Oslo está en Noruega.»", "Oslo está en Noruega."),
        ("„Oslo leží v Norsku.“", "Oslo leží v Norsku."),
        ('"Oslo" está en "Noruega"', '"Oslo" está en "Noruega"'),
        ("Translation: Oslo.", "Oslo."),
        ("spanish translation: Oslo.", "Oslo."),
        ('**Spanish:** "Oslo."', "Oslo."),
        ("**Oslo.**", "Oslo."),
        ("Here is the translation:\n\nOslo.", "Oslo."),
        ("```text\nOslo.\n```", "Oslo."),
        ("<think>Oslo is\n\na city.</think>\nOslo.", "Oslo."),
        ("", ""),
        (" \n ", ""),
        ('""', ""),
    ],
)
def test_answers_are_cleaned(answer, text):
    assert clean_answer(answer, "Oslo lies in Norway.", "Spanish") == text


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ('"Ja" ist ein Wort: "Nein"', '"Yes" is a word: "No"'),
        ('"Ja"', '"Yes"'),
        ("Sorry, wrong number ist ein Film.", "Sorry, Wrong Number is a film."),
        ("Translation: ein Roman", "Translation: a Novel"),
    ],
)
def test_what_the_sentence_has_itself_stays(answer, sentence):
    assert clean_answer(answer, sentence, "German") == answer


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("Oslo.\nNota: Oslo es una ciudad.", "several lines"),
        ("I'm sorry, but I can't help with that.", "a refusal"),
        ("I cannot translate this.", "a refusal"),
        ("As an AI language model, I do not.", "a refusal"),
    ],
)
def test_answers_that_are_no_sentence(server, answer, problem):
    with pytest.raises(BrokenAnswerError, match=problem):
        clean_answer(answer, "Oslo lies in Norway.", "Spanish")
    server.chat = answer
    found = make(server).translate_each([SENTENCE], "en", "es")
    assert found == [("", f"broken answer: {problem}, 2 times")]


@pytest.mark.parametrize(
    ("choice", "problem"),
    [
        ({"message": {"content": None, "refusal": "No."}}, "a refusal"),
        ({"message": {"content": ""}, "finish_reason": "content_filter"}, "a refusal"),
        ({"message": {"content": "Osl"}, "finish_reason": "length"}, "cut short"),
        ({"message": {"content": ["Oslo"]}}, "no text in it"),
        ({"message": None}, "no message in it"),
        ({}, "no message in it"),
    ],
)
def test_messages_that_hold_no_text(server, choice, problem):
    server.chat = choice
    [(text, reason)] = make(server).translate_each([SENTENCE], "en", "es")
    assert text == ""
    assert re.fullmatch(f"broken answer: {problem}.*, 2 times", reason)


def test_a_filter_that_refuses_one_sentence_does_not_stop_the_run(server):
    server.plan.extend(["400", "400"])
    server.code = "content_filter"
    found = make(server, concurrency=1).translate_each(["a", "b"], "en", "es")
    assert found == [("", "broken answer: refused with content_filter, 2 times"), ("B", "")]


def test_an_account_without_credit_is_not_asked_again(server):
    server.always, server.code = "429", "insufficient_quota"
    with pytest.raises(PolyprobeError, match="no credit left"):
        make(server, concurrency=1).translate(["a", "b"], "en", "es")
    assert server.sentences == ["a"]


def test_a_message_without_content_is_empty(server):
    server.chat = {"message": {"content": None}, "finish_reason": "stop"}
    assert make(server).translate_each([SENTENCE], "en", "es") == [("", "empty")]


def test_the_key_goes_to_the_server_and_nowhere_else(server, monkeypatch, caplog, capfd):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    engine = make(server)
    seen = [engine.signature, engine.sign("en", "es"), repr(vars(engine))]
    engine.translate([SENTENCE], "en", "es")
    assert server.bodies[0]["authorization"] == f"Bearer {KEY}"
    for server.always in ("400", "401", "403", "404", "500"):  # their messages contain the key
        try:
            seen += [found.problem for found in engine.translate_each(["other"], "en", "es")]
        except PolyprobeError as error:
            while error:
                seen.append(repr(error))
                error = error.__cause__ or (
                    None if error.__suppress_context__ else error.__context__
                )
    assert len(seen) == 3 + 5
    seen += [caplog.text, *capfd.readouterr()]
    assert not [text for text in seen if KEY in text]
    for folder, _, names in os.walk(cache_folder()):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                assert KEY.encode() not in file.read()
    with sqlite3.connect(cache_folder() / "translations.sqlite") as database:
        ((value,),) = database.execute("SELECT value FROM translations").fetchall()
    assert value[CHECKSUM:].decode() == SENTENCE.upper()


# Examples of a file, by language and relation.

FILE = """
[[ru.P36]]
sentence = "The capital of Norway is Oslo."
terms = { "Norway" = "Норвегия", "Oslo" = "Осло" }
translation = "Столица Норвегии - Осло."
[[ru.P36]]
sentence = "The capital of Peru is Lima."
translation = "Столица Перу - Лима."
[[ru.all]]
sentence = "Hypatia was born in Alexandria."
translation = "Гипатия родилась в Александрии."
[[cs.P36]]
sentence = "The capital of Norway is Oslo."
translation = "Hlavním městem Norska je Oslo."
"""
SENTENCES = ["The capital of Italy is Rome.", "Dante was born in Florence.", "It is Bern."]
RELATIONS = ["P36", "P19", "P36"]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "shots.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


def load(server, **options):
    return load_translator("openai", base_url=server.openai, model="m", **options)


def ask(server, engine, target="ru", relations=RELATIONS):
    """Return the messages by sentence."""
    found = engine.translate_each(SENTENCES, "en", target, relations=relations)
    assert [one.text for one in found] == [sentence.upper() for sentence in SENTENCES]
    messages = [body["messages"] for body in server.bodies]
    return {next(x for x in SENTENCES if x in each[-1]["content"]): each for each in messages}


def test_each_sentence_is_behind_the_examples_of_its_relation(server, file):
    asked = ask(server, load(server, examples=str(file)))
    for sentence, relation in zip(SENTENCES, RELATIONS, strict=True):
        [message] = asked[sentence]
        _, *shots, last = message["content"].split("\n\n")
        assert last == f"Sentence: {sentence}\nTranslation:"
        if relation == "P36":
            assert shots == [
                "Sentence: The capital of Norway is Oslo.\n"
                "Names: Norway = Норвегия; Oslo = Осло\n"
                "Translation: Столица Норвегии - Осло.",
                "Sentence: The capital of Peru is Lima.\nTranslation: Столица Перу - Лима.",
            ]
        else:  # no section of its own
            assert [shot.partition("\n")[0] for shot in shots] == [
                "Sentence: Hypatia was born in Alexandria."
            ]


def test_a_relation_without_examples_is_refused_before_anything_is_asked(server, file):
    with pytest.raises(
        PolyprobeError, match=r"has no \[\[cs.P19\]\] or \[\[cs.all\]\]; add one, or `al"
    ):
        ask(server, load(server, examples=str(file)), "cs")
    assert server.bodies == []
    file.write_text(FILE + "[is]\nall = []\n", encoding="utf-8")
    asked = ask(server, load(server, examples=str(file)), "is")
    assert {len(each[0]["content"].split("\n\n")) for each in asked.values()} == {1 + 0 + 1}


def test_a_language_with_an_empty_all_has_no_examples_for_other_relations(server, file):
    text = FILE.replace("[[cs.P36]]", "[cs]\nall = []\n[[cs.P36]]")
    file.write_text(text, encoding="utf-8")
    asked = ask(server, load(server, examples=str(file)), "cs")
    sizes = [len(asked[sentence][0]["content"].split("\n\n")) for sentence in SENTENCES]
    assert sizes == [1 + 1 + 1, 1 + 0 + 1, 1 + 1 + 1]


def test_a_system_message_has_the_task_and_the_examples(server, file):
    asked = ask(server, load(server, examples=str(file), system="true"))
    system, user = asked[SENTENCES[0]]
    assert [system["role"], user["role"]] == ["system", "user"]
    assert system["content"].startswith("Translate from English into Russian.")
    assert system["content"].endswith("Translation: Столица Перу - Лима.")
    assert user["content"] == f"Sentence: {SENTENCES[0]}\nTranslation:"


def test_file_and_system_message_are_signed_and_texts_are_kept_apart(server, file):
    engines = [load(server), load(server, examples=str(file)),
               load(server, examples=str(file), system="true")]  # fmt: skip
    file.write_text(FILE + "# changed", encoding="utf-8")
    engines.append(load(server, examples=str(file)))
    assert len({engine.signature for engine in engines}) == 4
    for engine in engines[1:]:
        engine.translate_each(SENTENCES, "en", "ru", relations=RELATIONS)
        before = len(server.bodies)
        engine.translate_each(SENTENCES, "en", "ru", relations=RELATIONS)
        assert len(server.bodies) == before
    assert len(server.bodies) == 3 * len(SENTENCES)


def test_a_language_without_a_section_is_refused(server, file):
    with pytest.raises(PolyprobeError, match=r"toml has no examples for 'es'; it has ru, cs"):
        load(server, examples=str(file)).translate(SENTENCES, "en", "es")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[ru.P36]\n", "is not TOML"),
        ("[[ru]]\nsentence = 'a'\n", ": ru: expected [[LANGUAGE.RELATION]]"),
        ("[ru.P36]\nsentence = 'a'\n", ": ru.P36: expected"),
        ("[[ru.P36]]\nsentence = 'a'\n", ": ru.P36, example 1: expected"),
        ("[[ru.P36]]\nsentence = 'a'\ntranslation = ' '\n", ": ru.P36, example 1: expected"),
        ("[[ru.P36]]\nsentence = 'a'\ntranslation = 'b'\nnames = 'c'\n", "example 1: expected"),
        ("[[ru.P36]]\nsentence = 'a'\ntranslation = 'b'\nterms = ['c']\n", "example 1: expected"),
        ("[[ru.P36]]\nsentence = 'a'\ntranslation = 'b'\n" * (LIMIT + 1),
         "[[ru.P36]] has 21 examples; expected 20 at most"),
    ],
)  # fmt: skip
def test_a_file_of_another_form(tmp_path, text, message):
    path = tmp_path / "shots.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PolyprobeError) as caught:
        read_example_file(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_values_are_refused(server):
    with pytest.raises(PolyprobeError, match="'yes' for system of the translator openai"):
        load(server, system="yes")
