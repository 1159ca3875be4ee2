"""Similarity of two words, 0 to 100, as inflected forms or spellings of one name.

Inflection changes the end of a word (Praha, Praze), transliteration one or two letters of a long
word (Пенсильванія, Пенсільванії). A plain edit distance would also match words with the same end
(geology, ecology). Words are case-folded and have a lemma (`words.Word`).
"""

import re
from functools import lru_cache
from math import ceil
from unicodedata import combining, normalize

from rapidfuzz.distance import Indel, Levenshtein, Prefix

from polyprobe.metrics.shared.words import Word

ENDING = 3  # maximum letters that inflection changes
MISSPELT = 4  # letters of a word for each letter that may differ between spellings
EACH_LETTER = 5  # cost of each letter of the endings
SURE_STEM, LEAST_BOUND = 4, 75.0  # letters; least score of a shorter stem
VOWELS = frozenset("aeiouyøæœаеиоуыэюяєіїйьъαεηιουω")  # with soft signs
NEARLY = 99.0  # greatest score of unequal words
DOUBLED = re.compile(r"(\D)\1+")
SIMPLIFIED = 5.0  # cost of accents and doubled letters in only one of the words
SUFFIXED = 95.0  # an ending after a mark: İstanbul'da, CBS-u
MARKED_ENDING = re.compile(r"-\w{1,3}|['’]\w{1,8}")
SOFTENED = frozenset(["gz", "hz", "kc", "хс", "гз", "кц"])  # Riga, Rize
PREFIX_LETTERS = 2  # Hebrew and Arabic join short prepositions and the article to the word
PREFIXED = 90.0
JOINING = frozenset("אבגדהוזחטיכלמנסעפצקרשתابتثجحخدذرزسشصضطظعغفقكلمنهويپچژگکی")


def compare_words(word: Word, label: Word, inflected: bool = True) -> float:
    """Return the similarity of a sentence's word and a label's, by form or lemma."""
    if word.lemma == label.lemma or word.form == label.form:
        return 100.0
    if not inflected:  # only the spelling may differ
        return compare_spelling(word.form, label.form)
    return max(
        compare_forms(word.form, label.form),
        compare_forms(simplify_word(word.form), simplify_word(label.form)) - SIMPLIFIED,
        compare_lemmas(word.lemma, label.lemma),
        compare_lemmas(word.lemma, label.form),
    )


@lru_cache(1 << 18)
def compare_forms(word: str, label: str) -> float:
    """Return the similarity of two forms, 0 unless one can be an inflection or spelling variant.

    >>> compare_forms("праге", "прага"), compare_forms("итальянский", "испанский")
    (90.0, 0.0)
    """
    if word == label:
        return 100.0
    if word.startswith(label) and MARKED_ENDING.fullmatch(word, len(label)):
        return SUFFIXED
    likeness = Indel.normalized_similarity(word, label) * 100
    stem = share_stem(word, label)
    if stem:
        endings = len(word) - stem, len(label) - stem
        # 100 minus five for each letter of the endings, if that is more than the edit similarity.
        sure = stem >= SURE_STEM or max(endings) <= 1
        bound = 100.0 - EACH_LETTER * sum(endings) if sure else LEAST_BOUND
        return min(NEARLY, max(likeness, bound if sure or likeness >= 70 else 0.0))
    prefix = word.removesuffix(label)
    if prefix != word and 0 < len(prefix) <= PREFIX_LETTERS and prefix[0] in JOINING:
        return PREFIXED
    ending = len(word) - len(label)
    if not 0 < ending <= ENDING:
        return compare_spelling(word, label)
    return max(compare_spelling(word, label), compare_spelling(word[:-ending], label))


@lru_cache(1 << 18)
def compare_lemmas(word: str, label: str) -> float:
    """Return the edit similarity of two lemmas that share a stem or are long, else 0."""
    if share_stem(word, label):
        return min(NEARLY, Indel.normalized_similarity(word, label) * 100)
    return compare_spelling(word, label)


def share_stem(word: str, label: str) -> int:
    """Return the length of the common stem of two words, 0 if they cannot be forms of one word."""
    stem = Prefix.similarity(word, label)
    shorter = min(len(word), len(label))
    endings = word[stem:], label[stem:]
    if stem >= 2 and endings[1][:1] + endings[0][:1] in SOFTENED:
        stem, endings = stem + 1, (endings[0][1:], endings[1][1:])
    # Of a word of up to four letters the stem has all but one, of others at least half.
    minimum = max(2, shorter - 1 if shorter <= 4 else ceil(shorter / 2))
    if stem < minimum or max(map(len, endings)) > ENDING:
        return 0
    letters = normalize("NFD", "".join(endings))
    # Endings of two consonants are of different names: Iran, Iraq.
    exchanged = shorter <= 4 and all(endings) and VOWELS.isdisjoint(letters)
    return 0 if exchanged else stem


@lru_cache(1 << 18)
def simplify_word(word: str) -> str:
    """Return a word without accents and doubled letters: `soluň`, `soluni`; Піттсбург, Пітсбург."""
    plain = "".join(letter for letter in normalize("NFD", word) if not combining(letter))
    return DOUBLED.sub(r"\1", plain)


def compare_spelling(word: str, label: str) -> float:
    """Return the similarity of two words of at least six letters; one in four may differ."""
    shorter, longer = sorted((len(word), len(label)))
    # Lengths that differ by two letters are of different names: Австрия, Австралия.
    if shorter < 6 or longer > shorter + 1:
        return 0.0
    if Levenshtein.distance(word, label) > longer // MISSPELT:
        return 0.0
    return min(NEARLY, Indel.normalized_similarity(word, label) * 100)
