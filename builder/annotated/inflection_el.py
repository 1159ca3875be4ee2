"""Greek cases, where ending and accent tell them without a dictionary.

The accusative of all singulars, the genitive of feminines and of masculines in -ης, -ας, -ος whose
accent cannot move. Of neuters and of words accented on the third last syllable the genitive moves
the accent or stays out altogether (του νησιού, του Όσλο): that is known here of a few words only.
"""

import re
import unicodedata
from collections.abc import Collection

from .gender import FEM, MASC, NEUT, SG
from .inflection import Inflector, split_tail

GREEK = re.compile(r"[\u0370-\u03ff\u1f00-\u1fff’'.0-9-]+")
# Behind these all words stay: articles, prepositions, and.
# fmt: off
STOPS = frozenset({
    "ο", "η", "το", "του", "της", "των", "τον", "την", "τη", "τους", "τις", "τα", "και", "σε",
    "στο", "στον", "στην", "στη", "στα", "για", "από", "με", "εν", "ως", "προς", "ή",
})
# fmt: on
SYLLABLE = re.compile(r"ου|αι|ει|οι|υι|αυ|ευ|ηυ|[αεηιουω]")
GENITIVES_OF_ANY = ("ας", "ης", "ου", "ων")
MALE_GENITIVES = ("ου", "ων")  # behind a man's name -ας, -ης are nominatives: Γιώργος Σεφέρης
# First words of foreign names, which decline in some and not in others.
FOREIGN = frozenset({"Λα", "Λε", "Κόστα", "Ιλόκος", "Νέγκρος", "Μίνας"})
KNOWN = {"Πανεπιστήμιο": "Πανεπιστημίου", "Βασίλειο": "Βασιλείου", "Δουκάτο": "Δουκάτου",
         "Μεγάλο": "Μεγάλου", "Καντόνιο": "Καντονίου", "Κόμμα": "Κόμματος", "Κύπελλο": "Κυπέλλου",
         "Διαμέρισμα": "Διαμερίσματος", "Ινστιτούτο": "Ινστιτούτου", "Κέντρο": "Κέντρου",
         "Παγκόσμιο": "Παγκοσμίου", "Συμβούλιο": "Συμβουλίου", "Κοινοβούλιο": "Κοινοβουλίου",
         "Κράτος": "Κράτους", "Εθνικό": "Εθνικού", "Μεξικό": "Μεξικού", "Βερολίνο": "Βερολίνου",
         "Λονδίνο": "Λονδίνου", "Παρίσι": "Παρισιού", "Νησί": "Νησιού", "Μιλάνο": "Μιλάνου",
         "Μόναχο": "Μονάχου", "Βέλγιο": "Βελγίου", "Λουξεμβούργο": "Λουξεμβούργου",
         "Πεκίνο": "Πεκίνου", "Κάιρο": "Καΐρου", "Δουβλίνο": "Δουβλίνου"}  # fmt: skip
GENITIVES = {
    FEM: {"α": "ας", "η": "ης", "ος": "ου"},
    MASC: {"ης": "η", "ας": "α", "ος": "ου"},
    NEUT: {"ος": "ους"},
}
ACCUSATIVES = {MASC: {"ης": "η", "ας": "α", "ος": "ο"}, FEM: {"ος": "ο"}}


class Inflection(Inflector):
    """Gives each word up to an article or a preposition the ending of its gender."""

    name = "endings (el)"

    def __init__(self, language: str) -> None:
        pass

    def inflect(
        self,
        label: str,
        case: str,
        gender: str | None = None,
        number: str | None = None,
        kinds: Collection[str] = (),
    ) -> str | None:
        """Return the label in the case; None where a word has an ending that does not tell it."""
        head, tail = split_tail(label, (" (", ", "))
        if case == "NOM":
            return label
        if gender == NEUT and case == "ACC" and GREEK.match(head):
            return label
        if gender is None or number not in (None, SG) or case not in ("GEN", "ACC"):
            return None
        words = head.split(" ")
        man = gender == MASC and "human" in kinds
        until = next((at for at in range(len(words)) if ends_head(words, at, man)), len(words))
        known = words[0] not in FOREIGN and all(map(GREEK.fullmatch, words[:until]))
        if not until or not known:
            return None
        forms = [decline(word, case, gender) for word in words[:until]]
        if any(form is None for form in forms):
            return None
        return " ".join([*filter(None, forms), *words[until:]]) + tail


def ends_head(words: list[str], at: int, man: bool) -> bool:
    """Tell whether a word is a stop, or a genitive behind the first."""
    genitives = MALE_GENITIVES if man else GENITIVES_OF_ANY
    return words[at] in STOPS or (at > 0 and strip_tonos(words[at]).endswith(genitives))


def decline(word: str, case: str, gender: str) -> str | None:
    """Return a word in the genitive or accusative singular, None where it is not told.

    Neuters, and feminines but those in -ος, have one form for nominative and accusative;
    abbreviations and words that end in another consonant than ς do not inflect, save old ones in
    -ων, -ωρ, -ξ and -ψ, whose stem is not told.

    >>> decline("Ελλάδα", "GEN", "FEM"), decline("Πέτρος", "ACC", "MASC")
    ('Ελλάδας', 'Πέτρο')
    >>> decline("άνθρωπος", "GEN", "MASC") is decline("Όσλο", "GEN", "NEUT") is None
    True
    """
    if word.isupper() or word.isdigit():
        return word
    if gender == NEUT and case == "GEN" and word in KNOWN:
        return KNOWN[word]
    plain = strip_tonos(word)
    if case == "ACC" and (gender == NEUT or (gender == FEM and not plain.endswith("ος"))):
        return word
    endings = (ACCUSATIVES if case == "ACC" else GENITIVES).get(gender, {})
    for ending, new in endings.items():
        if plain.endswith(ending) and not (new in ("ου", "ους") and is_early(word)):
            accented = word[-len(ending) :] != plain[-len(ending) :]
            return word[: -len(ending)] + (accent(new) if accented else new)
    closed = plain[-1:] not in "αεηιουως" and not plain.endswith(("ων", "ωρ", "ξ", "ψ"))
    foreign = gender == MASC and (plain[-1:] in "αεηιουω" or plain.endswith("ις"))
    foreign = foreign or (gender == FEM and plain[-1:] in "ειου")  # Κιουρί
    return word if closed or foreign else None


def is_early(word: str) -> bool:
    """Tell whether the accent is on the third last syllable, from which it may move."""
    composed = unicodedata.normalize("NFD", word.casefold())
    behind = composed.partition("\u0301")[2]
    return len(SYLLABLE.findall(strip_tonos(behind))) >= 2


def strip_tonos(word: str) -> str:
    """Return the word without accents."""
    decomposed = unicodedata.normalize("NFD", word)
    return "".join(letter for letter in decomposed if letter != "\u0301")


def accent(ending: str) -> str:
    """Return an ending with the accent on its vowel: ης, ής; ου, ού."""
    at = max(ending.rfind(letter) for letter in "αηουω" if letter in ending)
    return unicodedata.normalize("NFC", f"{ending[: at + 1]}\u0301{ending[at + 1 :]}")
