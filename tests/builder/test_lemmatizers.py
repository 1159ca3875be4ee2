"""Words and lemmas: offsets into the text in any Unicode form, and unavailable lemmatisers."""

import sys

import pytest

from polyprobe.builder.objects.lemmatizers import fold_word, load_lemmatizer
from polyprobe.system.errors import PolyprobeError


def words(text: str, name: str = "none", language: str = "ru", folder=None) -> list[str]:
    found = load_lemmatizer(name, language, folder).list_words([text])[0]
    return [text[word.start : word.end] for word in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []), ("… — !", []), ("a\n\nb", ["a", "b"]), ("👩‍🚀 Paris.", ["Paris"]),
        ("Orhan İstanbul'da", ["Orhan", "İstanbul'da"]), ("New\u00a0York", ["New", "York"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]), ("Ки\u0301їв", ["Ки\u0301їв"]),
        ("Рей\u00adкья\u00adвик", ["Рей\u00adкья\u00adвик"]), ("می\u200cرود", ["می\u200cرود"]),
        ("Re\u0301kjavi\u0301k", ["Re\u0301kjavi\u0301k"]), ("«Мир» (1)", ["Мир", "1"]),
    ],
)  # fmt: skip
def test_words_are_whole(text, expected):
    assert words(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("é", "e\u0301"), ("İstanbul", "istanbul"), ("Ки\u0301їв", "Київ"), ("Ґданськ", "Гданськ"),
        ("Рей\u00adкьявик", "Рейкьявик"), ("פָּרִיז", "פריז"), ("Straße", "STRASSE"),
    ],
)  # fmt: skip
def test_either_spelling_is_folded_to_one(one, other):
    assert fold_word(one) == fold_word(other)


def test_what_makes_another_word_stays():
    assert fold_word("край") != fold_word("краи")
    assert fold_word("हिन्दी") != fold_word("हन्द")


def test_simplemma_knows_lemmas():
    lemmatizer = load_lemmatizer("simplemma", "cs")
    assert lemmatizer.name.startswith("simplemma ")
    assert [word.lemma for word in lemmatizer.list_words(["v Praze"])[0]] == ["v", "praha"]


def test_a_language_without_inflection_needs_no_lemmas():
    assert load_lemmatizer("stanza", "vi", "/nowhere").name == "none"


def test_auto_takes_the_best_there_is(tmp_path):
    assert load_lemmatizer("auto", "uk", tmp_path).name.startswith("simplemma ")
    assert load_lemmatizer("auto", "xx", tmp_path).name == "none"


@pytest.mark.parametrize(
    ("name", "language", "said"),
    [
        ("spacy", "ru", "spacy"),
        ("simplemma", "xx", "xx"),
        ("stanza", "ru", "has no Stanza model of 'ru'"),
        ("stanza", "xx", "has no Stanza model of 'xx'"),
    ],
)
def test_what_cannot_be_had_is_one_line(name, language, said, tmp_path):
    with pytest.raises(PolyprobeError, match=said) as error:
        load_lemmatizer(name, language, tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("package", ["stanza", "simplemma"])
def test_a_missing_package_is_named_with_its_extra(package, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(PolyprobeError, match=rf"{package}.*polyprobe\[sentences\]"):
        load_lemmatizer(package, "ru", tmp_path)


def test_auto_without_packages_is_plain(monkeypatch, tmp_path):
    for package in ("stanza", "simplemma", "simplemma.strategies.dictionaries.dictionary_factory"):
        monkeypatch.setitem(sys.modules, package, None)
    assert load_lemmatizer("auto", "ru", tmp_path).name == "none"


@pytest.fixture(scope="module")
def models(upstream):
    return upstream.parent / "stanza"


def test_damaged_models_are_one_line(models, tmp_path):
    for part in ("tokenize", "lemma"):
        (tmp_path / "uk" / part).mkdir(parents=True)
        for source in (models / "uk" / part).iterdir():
            (tmp_path / "uk" / part / source.name).write_bytes(source.read_bytes()[:1000])
    (tmp_path / "resources.json").write_bytes((models / "resources.json").read_bytes())
    with pytest.raises(PolyprobeError, match="cannot load the Stanza models of 'uk'") as error:
        load_lemmatizer("stanza", "uk", tmp_path)
    assert "\n" not in str(error.value)


def test_stanza_reads_many_texts_with_blank_lines_at_their_places(models):
    texts = [
        "Praha je město.\n\nBrno je také město.", "  \n Vídeň. Řím!  Paříž?\n", "", "\n\n",
        "👩‍🚀 žije\u00a0v\tPraze", "Re\u0301kjavi\u0301k", "Praha je město.\n\nBrno je také město.",
    ]  # fmt: skip
    lemmatizer = load_lemmatizer("stanza", "cs", models)
    read = lemmatizer.list_words(texts)
    found = [
        [text[word.start : word.end] for word in own] for text, own in zip(texts, read, strict=True)
    ]
    first = ["Praha", "je", "město", "Brno", "je", "také", "město"]
    second, fifth = ["Vídeň", "Řím", "Paříž"], ["žije", "v", "Praze"]
    assert found == [first, second, [], [], fifth, ["Re\u0301kjavi\u0301k"], first]
    assert read[4][2].lemma == "praha"
    assert "cs" in lemmatizer.name
