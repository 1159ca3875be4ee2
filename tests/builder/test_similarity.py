"""Similarity of two words: high for inflected forms, low for other words with the same ending."""

import pytest

from polyprobe.builder.objects.lemmatizers import Word, fold_word
from polyprobe.builder.objects.similarity import compare_words

THRESHOLD = 75


def word(form: str, lemma: str | None = None) -> Word:
    return Word(0, len(form), fold_word(form), fold_word(lemma or form))


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
