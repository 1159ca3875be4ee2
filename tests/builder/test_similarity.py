"""Similarity of two words: high for inflected forms, low for other words with the same ending."""

import pytest

from polyprobe.builder.objects.lemmatizers import Word, fold_word
from polyprobe.builder.objects.similarity import compare_forms, compare_words

THRESHOLD = 75


def word(form: str, lemma: str | None = None) -> Word:
    return Word(0, len(form), fold_word(form), fold_word(lemma or form))


@pytest.mark.parametrize(
    ("form", "label"),
    [
        ("Праге", "Прага"), ("Праги", "Прага"), ("Парижем", "Париж"), ("Львова", "Львів"),
        ("Ризі", "Рига"), ("Rize", "Riga"), ("Praze", "Praha"), ("Vídni", "Vídeň"),
        ("Keni", "Keňa"), ("Římě", "Řím"), ("Beču", "Beč"), ("Parizu", "Pariz"),
        ("Soluni", "Soluň"), ("Ankaře", "Ankara"), ("Franciji", "Francija"),
        ("Salcburku", "Salzburg"), ("Bejrutu", "Beirut"), ("Пенсільванії", "Пенсильванія"),
        ("Ολυμπία", "Ολύμπια"), ("İstanbul'da", "İstanbul"), ("Türkiye’nin", "Türkiye"),
        ("CBS-u", "CBS"), ("Seattle'is", "Seattle"), ("בפריז", "פריז"), ("Párizsban", "Párizs"),
        ("Пітсбурзі", "Піттсбург"),
    ],
)  # fmt: skip
def test_a_word_inflected_or_spelled_otherwise_is_alike(form, label):
    assert THRESHOLD <= compare_words(word(form), word(label)) <= 100


@pytest.mark.parametrize(
    ("form", "label"),
    [
        ("в", "Франкфурт-на-Майне"), ("итальянский", "испанский"), ("geology", "ecology"),
        ("Iran", "Iraq"), ("Mali", "Malta"), ("Австрія", "Австралія"), ("Rim", "Krim"),
        ("Polsko", "Portugalsko"), ("η", "Κωνσταντινούπολη"), ("Aljir", "Alma"), ("u", "Ur"),
        ("Austria-Hungary", "Austria"), ("פריז", "בריז"), ("Rize", "Rimini"), ("", "Praha"),
    ],
)  # fmt: skip
def test_another_word_is_not_alike(form, label):
    assert compare_words(word(form), word(label)) < THRESHOLD


def test_equal_lemmas_are_the_same_word():
    assert compare_words(word("Praze", "Praha"), word("Praha")) == 100
    assert compare_words(word("lidem", "člověk"), word("člověk")) == 100


def test_a_language_that_does_not_inflect_knows_no_endings():
    assert compare_words(word("Parisa"), word("Paris"), inflected=False) == 0
    assert compare_words(word("Paris"), word("Paris"), inflected=False) == 100


def test_what_a_changed_ending_costs():
    assert compare_forms("праге", "прага") == 100 - 5 - 5
    assert compare_forms("cbs-u", "cbs") == 95
    # 2 x 8 letters in common of 11 + 9, less than five points for each letter of the endings
    assert compare_forms("парижанина", "парижанин") == 95
    assert compare_words(word("Ολυμπία"), word("Ολύμπια")) == 100 - 5
