"""Find the names of entities in a text: inflected, romanised, in the language asked or another.

>>> names = Names({"Q90": {"en": ["Paris"], "fr": ["Paris"]}, "Q64": {"en": ["Berlin"]}}, "en")
>>> [(name.entity, name.language) for name in names.find("Not in Berlin's suburbs, but in Paris.")]
[('Q64', 'en'), ('Q90', 'en')]
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import lru_cache
from math import ceil
from typing import NamedTuple
from unicodedata import combining, normalize

from anyascii import anyascii
from babel import Locale, UnknownLocaleError
from babel.dates import format_date, format_skeleton, get_month_names
from num2words import num2words
from rapidfuzz.distance import Indel, Levenshtein, Prefix

# Languages whose nouns have no endings, or separate ones, by first subtag.
UNINFLECTED = ("bo", "ja", "km", "lo", "my", "th", "vi", "yue", "zh")
# Languages without spaces between words, by first subtag.
UNSEGMENTED = ("bo", "ja", "km", "lo", "my", "th", "yue", "zh")
UNSEEN = "\u00ad\u200b\u200c\u200d\u2060"  # soft hyphen and joiners: not part of the spelling
# Optional accents, and the vowels of Hebrew and Arabic.
OPTIONAL = "".join(map(chr, (*range(0x300, 0x370), *range(0x591, 0x5C8), *range(0x64B, 0x653))))
ACCENTS = [c for c in map(chr, range(0x300, 0x11000)) if unicodedata.category(c).startswith("M")]
LETTER = rf"\w{UNSEEN}{''.join(ACCENTS)}"
# The last letter of a Hebrew acronym is behind gershayim: ארה"ב
WORD = re.compile(rf"\w(?:[{LETTER}'’ʼ·]*[{LETTER}])?(?:(?<=[א-ת])[\"״][א-ת](?![א-ת]))?")
FOLDED = str.maketrans({"ё": "е", "ґ": "г", "і": "и", "ї": "и", "’": "'", "ʼ": "'", "״": '"'})
FOLDED |= {x: str(unicodedata.digit(chr(x))) for x in range(0x80, 0x20000) if chr(x).isdecimal()}
LEFT_OUT = str.maketrans("", "", UNSEEN + OPTIONAL)
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
ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
YEARS = range(1000, 2100)
LARGEST = 15  # digits of a number that is read
IN_WORDS = 1_000_000  # num2words takes hours for larger ones in Amharic
ORDERS = ("long", "d MMMM y", "MMMM d y")
NUMERALS = "〇零一二三四五六七八九十百千万萬億亿"
LEAST = 60.0  # least similarity of a word
ENOUGH = 80.0  # least similarity of a name: below 85 most are other words
ATTACHED = 95.0  # an ending of its own: Thailand'da, नेपालमा
ROMANISED = 10.0  # cost
FEW = 4  # letters of a name whose ending is exchanged for vowels alone
SHORT = 3  # letters; a name that is not longer is never inflected or romanised
LONG, LONGER = 6, 3  # letters of a name of another language, and of an ending without a mark
# Letters of scripts without spaces between words
UNSPACED = re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
# Letters whose runs are whole words
KATAKANA = "".join(map(chr, (*range(0x30A1, 0x30FB), 0x30FC)))
RUNS = (KATAKANA, f"{NUMERALS}0-9")
CLITIC = re.compile(r"(?:\w{1,2}|all|dall|dell|nell|qu|sull)['’](?=\w{2})")  # l'Inde
POSTPOSITIONS = frozenset(
    ("को", "का", "की", "के", "मा", "में", "ले", "से", "ने", "लाई", "बाट", "देखि", "सँग")
)
START = 2  # letters by which names are listed
NamePool = Mapping[str, Mapping[str, Iterable[str]]]  # {entity: {language: names}}


class Word(NamedTuple):
    """A word of a text: characters `[start, end)`, form and lemma, both folded."""

    start: int
    end: int
    form: str
    lemma: str


def read_runs(
    texts: Sequence[str], lemma: Callable[[str], str] = lambda word: word
) -> list[list[Word]]:
    """Return the words of each text, runs of letters and digits."""
    return [
        [
            Word(*run.span(), fold_word(run[0]), fold_word(lemma(run[0])))
            for run in WORD.finditer(text)
        ]
        for text in texts
    ]


def fold_word(text: str) -> str:
    """Return a word composed (NFC), case-folded and without spelling variants."""
    # Variants: е/ё, г/ґ, и/і, soft hyphens, accents outside composed letters (`Ки́їв`, small `İ`).
    composed = unicodedata.normalize("NFC", text).casefold().translate(FOLDED)
    return composed.translate(LEFT_OUT) or composed


def compare_words(word: Word, label: Word, inflected: bool = True) -> float:
    """Return the similarity of a sentence's word and a label's, 0 to 100, by form or lemma.

    Inflection changes the end of a word (Praha, Praze), transliteration one or two letters of a
    long word (Пенсильванія, Пенсільванії). A plain edit distance would also match words with the
    same end (geology, ecology). Words are case-folded and have a lemma (`Word`).
    """
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


@lru_cache(1 << 12)
def spell_name(name: str, language: str) -> list[str]:
    """Spell a number or date in other ways; return none of another name, or without the language.

    A date is written as in ISO 8601, or with the name of its month in the language.

    >>> spell_name("1989", "en")
    ['1,989', 'one thousand, nine hundred and eighty-nine', 'nineteen eighty-nine']
    >>> spell_name("1879-03-14", "fr")
    ['14 mars 1879', 'mars 14 1879', '14/03/1879']
    """
    spellings: list[str] = []
    if name.isdecimal() and len(name) <= LARGEST:
        spellings = [*_spell_number(int(name), language)]
    elif day := read_date(name, language):
        with suppress(UnknownLocaleError, ValueError):  # a language without locale
            locale = Locale.parse(language.replace("-", "_"))
            spellings = [format_date(day, order, locale) for order in ORDERS]
            spellings.append(format_skeleton("yMd", day, locale=locale))
    return [x for x in dict.fromkeys(spellings) if x != name]


def _spell_number(number: int, language: str) -> Iterator[str]:
    yield str(number)
    yield f"{number:,}"
    if number > IN_WORDS:
        return
    with suppress(Exception):  # a language without words, or with a fault
        yield num2words(number, lang=language.replace("-", "_"))
        if number in YEARS and language.partition("-")[0] in ("de", "en"):
            yield num2words(number, lang=language, to="year")


def read_date(name: str, language: str) -> date | None:
    """Read a date; None for other texts."""
    with suppress(OverflowError, ValueError):  # no such day
        if match := ISO.fullmatch(name):
            return date(*map(int, match.groups()))
        words = [fold_word(word) for word in WORD.findall(name)]
        numbers = sorted(int(word) for word in words if word.isdecimal())
        months = {_months(language).get(word) for word in words} - {None}
        if len(words) == 3 and len(numbers) == 2 and len(months) == 1:
            return date(numbers[1], months.pop() or 0, numbers[0])
    return None


@lru_cache
def _months(language: str) -> dict[str, int]:
    """Return the number of each month by its names, folded."""
    months: dict[str, int] = {}
    with suppress(UnknownLocaleError, ValueError):
        locale = Locale.parse(language.replace("-", "_"))
        for context in ("format", "stand-alone"):
            names = get_month_names("wide", context, locale)
            months |= {fold_word(name): number for number, name in names.items()}
    return months


class Mention(NamedTuple):
    """A name of an entity in a text: characters `[start, end)`, and its similarity, 0 to 100."""

    start: int
    end: int
    score: float
    entity: str
    language: str


class _Entry(NamedTuple):
    entity: str
    language: str
    words: tuple[Word, ...]
    inflected: bool
    exact: bool  # a number or date


class Names:
    """The names of entities in all languages, for texts in one language.

    Args:
        pool: {entity: {language: names}}. A name of several entities is that of the first, unless
            `find` is told another.
        language: in which texts are asked for; its names are inflected, and go before others,
            then English.
        lemma: lemma of a word of the language; by default the word.
    """

    def __init__(
        self, pool: NamePool, language: str, lemma: Callable[[str], str] = lambda word: word
    ) -> None:
        self.language, self._lemma = language, lemma
        self._entries: dict[str, list[_Entry]] = defaultdict(list)
        self._romanised: dict[str, list[_Entry]] = defaultdict(list)
        self._texts: dict[str, list[tuple[str, str]]] = defaultdict(list)
        names = [
            (self._rank(x), entity, x, name, name != label)
            for entity, languages in pool.items()
            for x, labels in languages.items()
            for label in labels
            for name in (label, *spell_name(label, x))
        ]
        for _, entity, x, name, exact in sorted(names, key=lambda name: name[0]):
            if UNSPACED.search(name) or name.isdecimal():  # 1989年
                composed = unicodedata.normalize("NFC", name)
                self._texts[_fold_letters(composed)].append((entity, x))
            if UNSPACED.search(name):
                continue
            native = x == language
            words = tuple(read_runs([name], lemma)[0] if native else read_runs([name])[0])
            if words:
                inflected = native and x.partition("-")[0] not in UNINFLECTED
                self._add(_Entry(entity, x, words, inflected, exact))
        patterns = map(_bound, sorted(self._texts, key=len, reverse=True))
        self._pattern = re.compile("|".join(patterns)) if self._texts else None

    def find(self, text: str, right: Collection[str] = ()) -> list[Mention]:
        """Return the names in a text, in their order; of two that overlap, the longer one.

        A name of several entities is that of one in `right`.
        """
        mentions: list[Mention] = []
        if self._pattern and UNSPACED.search(text):
            for match in self._pattern.finditer(_fold_letters(text)):
                mentions += [Mention(*match.span(), 100.0, *x) for x in self._texts[match[0]]]
        # a name beside a letter of a script without spaces: 答案是France
        whole = read_runs([UNSPACED.sub(" ", text)], self._lemma)[0]
        cut = [_cut_clitic(word) for word in whole]
        for words in [whole] if cut == whole else [whole, cut]:
            mentions += self._search(words, self._entries, 0.0)
            if not text.isascii():  # mixed scripts, accents: Уκραίνη, Thaïland
                plain = [_romanise(word) for word in words]
                mentions += self._search(plain, self._romanised, ROMANISED)
        # the best first
        mentions.sort(
            key=lambda x: (
                x.start - x.end,
                -x.score,
                x.entity not in right,
                self._rank(x.language),
                x.start,
            )
        )
        names: list[Mention] = []
        covered = bytearray(len(text))
        for name in mentions:
            if not any(covered[name.start : name.end]):
                names.append(name)
                covered[name.start : name.end] = b"1" * (name.end - name.start)
        return sorted(names)

    def _rank(self, language: str) -> tuple[bool, bool]:
        return language != self.language, language != "en"

    def _add(self, entry: _Entry) -> None:
        self._entries[entry.words[0].form[:START]].append(entry)
        plain = tuple(map(_romanise, entry.words))
        if all(len(word.form) > SHORT for word in plain):
            self._romanised[plain[0].form[:START]].append(entry._replace(words=plain))

    def _search(
        self, words: Sequence[Word], entries: Mapping[str, Sequence[_Entry]], cost: float
    ) -> Iterable[Mention]:
        for place, word in enumerate(words):
            starts = {word.form[:START], word.lemma[:START]}
            if word.form[:1] in JOINING:  # a preposition or article of one or two letters
                starts |= {word.form[1 : 1 + START], word.form[2 : 2 + START]}
            for entry in (entry for start in starts for entry in entries.get(start, ())):
                run = words[place : place + len(entry.words)]
                score = _compare_runs(run, entry) - cost
                if score >= ENOUGH:
                    yield Mention(run[0].start, run[-1].end, score, entry.entity, entry.language)


def _fold_letters(text: str) -> str:
    """Return a text of the same length, without case."""
    return "".join(y if len(y := x.casefold()) == 1 else x for x in text)


def _bound(name: str) -> str:
    """Return the pattern of a name; one in Katakana is a whole run of it: タイ is not タイムズ."""
    ends = ((x for x in RUNS if re.match(f"[{x}]", y)) for y in (name[0], name[-1]))
    prefix, suffix = (next((f"[{x}]" for x in of), "(?!)") for of in ends)
    return f"(?<!{prefix}){re.escape(name)}(?!{suffix})"


def _compare_runs(run: Sequence[Word], entry: _Entry) -> float:
    """Return the similarity of words and a name, by length; 0 if a word is another one."""
    if len(run) < len(entry.words):
        return 0.0
    total = length = 0.0
    for word, part in zip(run, entry.words, strict=True):
        score = _compare(word, part, entry.inflected, entry.exact)
        if score < LEAST:
            return 0.0
        total += score * len(part.form)
        length += len(part.form)
    return total / length


def _compare(word: Word, part: Word, inflected: bool, exact: bool) -> float:
    """Return the similarity of a word of a text and of a name."""
    size, exact = len(part.form), exact or part.form[-1].isdecimal()
    if word.form.startswith(part.form) and word.form != part.form:
        ending = word.form[size:]
        long = not inflected and not exact and size >= LONG and len(ending) <= LONGER
        if ending in POSTPOSITIONS or long or MARKED_ENDING.fullmatch(ending):
            return ATTACHED
    if exact or len(word.form) < SHORT or (size <= SHORT and not inflected):
        return 100.0 * (word.form == part.form)
    if size <= FEW and inflected and _exchanges(word.form, part.form):
        return 0.0
    return compare_words(word, part, inflected)


def _exchanges(word: str, part: str) -> bool:
    """Tell whether a short word has another ending than a name, with a consonant: that, Thai."""
    if word[:1] in JOINING and word[:1] != part[:1]:  # a preposition
        return False
    stem = Prefix.similarity(word, part)
    endings = word[stem:], part[stem:]
    return all(endings) and not VOWELS.issuperset("".join(endings))


def _cut_clitic(word: Word) -> Word:
    match = CLITIC.match(word.form)
    if not match:
        return word
    n = match.end()
    return Word(word.start + n, word.end, word.form[n:], word.lemma[n:])


@lru_cache(1 << 18)
def _romanise_text(text: str) -> str:
    return fold_word(anyascii(text)) or text


def _romanise(word: Word) -> Word:
    form = _romanise_text(word.form)
    return Word(word.start, word.end, form, form)
