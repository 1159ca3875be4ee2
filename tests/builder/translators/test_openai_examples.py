"""Examples of a file, by language and relation."""

import pytest

from polyprobe.builder.translators import load_translator
from polyprobe.builder.translators.examples import LIMIT, read_example_file
from polyprobe.system.errors import PolyprobeError

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


def make(server, **options):
    return load_translator("openai", base_url=server.openai, model="m", **options)


def ask(server, engine, target="ru", relations=RELATIONS):
    """Return the messages by sentence."""
    found = engine.translate_each(SENTENCES, "en", target, relations=relations)
    assert [one.text for one in found] == [sentence.upper() for sentence in SENTENCES]
    messages = [body["messages"] for body in server.bodies]
    return {next(x for x in SENTENCES if x in each[-1]["content"]): each for each in messages}


def test_each_sentence_is_behind_the_examples_of_its_relation(server, file):
    asked = ask(server, make(server, examples=str(file)))
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
        ask(server, make(server, examples=str(file)), "cs")
    assert server.bodies == []
    file.write_text(FILE + "[is]\nall = []\n", encoding="utf-8")
    asked = ask(server, make(server, examples=str(file)), "is")
    assert {len(each[0]["content"].split("\n\n")) for each in asked.values()} == {1 + 0 + 1}


def test_a_language_with_an_empty_all_has_no_examples_for_other_relations(server, file):
    text = FILE.replace("[[cs.P36]]", "[cs]\nall = []\n[[cs.P36]]")
    file.write_text(text, encoding="utf-8")
    asked = ask(server, make(server, examples=str(file)), "cs")
    sizes = [len(asked[sentence][0]["content"].split("\n\n")) for sentence in SENTENCES]
    assert sizes == [1 + 1 + 1, 1 + 0 + 1, 1 + 1 + 1]


def test_a_system_message_has_the_task_and_the_examples(server, file):
    asked = ask(server, make(server, examples=str(file), system="true"))
    system, user = asked[SENTENCES[0]]
    assert [system["role"], user["role"]] == ["system", "user"]
    assert system["content"].startswith("Translate from English into Russian.")
    assert system["content"].endswith("Translation: Столица Перу - Лима.")
    assert user["content"] == f"Sentence: {SENTENCES[0]}\nTranslation:"


def test_file_and_system_message_are_signed_and_texts_are_kept_apart(server, file):
    engines = [make(server), make(server, examples=str(file)),
               make(server, examples=str(file), system="true")]  # fmt: skip
    file.write_text(FILE + "# changed", encoding="utf-8")
    engines.append(make(server, examples=str(file)))
    assert len({engine.signature for engine in engines}) == 4
    for engine in engines[1:]:
        engine.translate_each(SENTENCES, "en", "ru", relations=RELATIONS)
        before = len(server.bodies)
        engine.translate_each(SENTENCES, "en", "ru", relations=RELATIONS)
        assert len(server.bodies) == before
    assert len(server.bodies) == 3 * len(SENTENCES)


def test_a_language_without_a_section_is_refused(server, file):
    with pytest.raises(PolyprobeError, match=r"toml has no examples for 'es'; it has ru, cs"):
        make(server, examples=str(file)).translate(SENTENCES, "en", "es")


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
        make(server, system="yes")
