"""Find the names of entities in a text: inflected, romanised, in the language asked or another.

>>> names = Names({"Q90": {"en": ["Paris"], "fr": ["Paris"]}, "Q64": {"en": ["Berlin"]}}, "en")
>>> [(name.entity, name.language) for name in names.find("Not in Berlin's suburbs, but in Paris.")]
[('Q64', 'en'), ('Q90', 'en')]
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from anyascii import anyascii
from rapidfuzz.distance import Prefix

from polyprobe.metrics.shared.numbers import NUMERALS, spell_name
from polyprobe.metrics.shared.similarity import JOINING, MARKED_ENDING, VOWELS, compare_words
from polyprobe.metrics.shared.words import UNINFLECTED, Word, fold_word, read_runs

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
        mentions = [*self._find_texts(text)]
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

    def _find_texts(self, text: str) -> Iterable[Mention]:
        if self._pattern and UNSPACED.search(text):
            for match in self._pattern.finditer(_fold_letters(text)):
                for name in self._texts[match[0]]:
                    yield Mention(*match.span(), 100.0, *name)

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
    before, behind = (next((f"[{x}]" for x in of), "(?!)") for of in ends)
    return f"(?<!{before}){re.escape(name)}(?!{behind})"


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
