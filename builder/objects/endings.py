"""Tell the forms of a name from other names by closed lists of endings (`endings.toml`)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache, reduce
from itertools import chain

from polyprobe.metrics.shared.names import UNINFLECTED, Word, compare_words, fold_word
from polyprobe.system.files import read_toml

INFLECTED = 90.0  # least similarity of a label and its form by the lists
LEAST_STEM = 3  # letters of a stem that differs from the label
LAST = 5  # letters of a stem among which one may shift
PREFIX = 6  # greatest length of clitics before a name
MARK = re.compile("[-':]")  # before an ending: NATO'nun, CBS-u, USA:n
VOWEL = frozenset("aeiouyæøœıəáéíóúýäëïöüÿőűâêîôûàèìòùåõāēīōūαεηιουωаеиоуыэюяєәөүіұაეიოუաեէըիոօ")


class Endings:
    """The lists of a language; without them, words are compared by their letters alone."""

    def __init__(self, table: Mapping[str, str | list[str]] | None, inflected: bool = True) -> None:
        self.closed, self._inflected = table is not None, inflected
        # Each list as its slots, each slot as its pieces.
        slots = {
            key: [fold_word(x).split() for x in ([text] if isinstance(text, str) else text)]
            for key, text in (table or {}).items()
        }
        self._folds = split_pairs(slots.pop("fold", []))
        slots = {key: [[*map(self._spell, x)] for x in lists] for key, lists in slots.items()}
        self._initial, self._final, self._shift = (
            split_pairs(slots.get(key, [])) for key in ("initial", "final", "shift")
        )
        small = "|".join(map(re.escape, chain(*slots.get("small", []))))
        self._prefix, consonant, vowel, endings = (
            "".join(f"(?:{'|'.join(map(re.escape, slot))})?" for slot in slots.get(key, []) if slot)
            for key in ("prefix", "consonant", "vowel", "endings")
        )
        self._patterns = {
            (after, lower): re.compile(f"{link}{endings}{f'|{small}' if lower else ''}")
            for after, link in ((True, vowel), (False, consonant))
            for lower in (True, False)
        }
        self._list_stems = lru_cache(1 << 16)(self.list_stems)
        self._judge = lru_cache(1 << 18)(self.judge)

    def _spell(self, text: str) -> str:
        return reduce(lambda text, pair: text.replace(*pair), self._folds, text)

    def has(self, ending: str) -> bool:
        """Tell whether a text is an ending of the lists."""
        text = self._spell(fold_word(ending))
        return any(pattern.fullmatch(text) for pattern in self._patterns.values())

    def fold(self, words: Sequence[Word]) -> list[Word]:
        """Return words without the spelling variants of the language."""
        return [x._replace(form=self._spell(x.form), lemma=self._spell(x.lemma)) for x in words]

    def compare(self, word: Word, label: Word, small: bool) -> tuple[float, bool]:
        """Return the similarity of a sentence's word and a label's, and whether it is a form of it.

        A word that begins with the whole label and goes on with letters that are no ending is
        another name (Ivanov is not Ivan), unless their lemmas are equal. `small` labels are written
        without capitals and take more endings.
        """
        score = compare_words(word, label, self._inflected)
        if score == 100.0 or not self.closed:
            return score, score == 100.0
        verdict = self._judge(word.form, label.form, small)
        return (score, False) if verdict is None else (max(score, INFLECTED) * verdict, verdict)

    def judge(self, word: str, label: str, small: bool) -> bool | None:
        """Tell whether a word is a form of a label; None if the lists cannot tell."""
        verdict = None
        for place in range(min(PREFIX, len(word))):
            if place and not re.fullmatch(self._prefix, word[:place]):
                continue
            for stem in self._list_stems(label):
                if not word.startswith(stem, place):
                    continue
                ending = word[place + len(stem) :]
                pattern = self._patterns[stem[-1] in VOWEL, small or stem != label]
                if pattern.fullmatch(MARK.sub("", ending)):
                    return True
                # Another ending after a mark, or a doubled letter, is left to the similarity.
                if stem == label and not MARK.match(ending) and ending != stem[-1]:
                    verdict = False
        return verdict

    def list_stems(self, label: str) -> list[str]:
        """Return a label and the stems to which endings are attached."""
        stems = [label, *(b + label[len(a) :] for a, b in self._initial if label.startswith(a))]
        stems += [x[: len(x) - len(a)] + b for x in stems for a, b in self._final if x.endswith(a)]
        stems += [
            x[:place] + b + x[place + len(a) :]
            for x in stems
            for a, b in self._shift
            if (place := x.rfind(a, max(1, len(x) - LAST))) > 0
        ]
        return [*dict.fromkeys(x for x in stems if x == label or len(x) >= LEAST_STEM)]


def split_pairs(slots: Iterable[Iterable[str]]) -> list[tuple[str, str]]:
    """Return the pairs of `a>b` in slots.

    >>> split_pairs([["kk>k", "a>"]])
    [('kk', 'k'), ('a', '')]
    """
    parts = (piece.partition(">") for piece in chain(*slots))
    return [(before, after) for before, _, after in parts]


@cache
def load_endings(language: str) -> Endings:
    """Return the lists of a language or split."""
    code = re.split("[-_]", language.lower())[0]
    tables = read_toml(__package__, "endings.toml").items()
    table = next((table for codes, table in tables if code in codes.split()), None)
    return Endings(table, code not in UNINFLECTED)
