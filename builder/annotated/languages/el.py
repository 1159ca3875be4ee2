"""Greek: gender and number of labels, articles, contraction with σε, and endings."""

import re
import unicodedata

from polyprobe.system.files import read_toml

from ..entities import FEM, MASC, NEUT, PL, SG, Agreement, Phrase, PromptEntity, Traits
from ..inflection import CasedLabel, Inflector, split_tail

WORDS = read_toml(__package__, "el.toml")
FEMININE_KINDS = frozenset({"company", "record label", "club", "island"})
# Without accents: neuter and feminine nouns in -ος.
NEUTERS_IN_OS = re.compile(r"δασος|επος|αργος|ορος|.*(ειδος|γενος|μελος|κρατος|σκαφος|σμηνος)")
FEMININES_IN_OS = re.compile(r"παφος|κνιδος|κορινθος|.*(νησος|οδος|ηπειρος)")
# A title's own article: Ο Νονός.
TITLE_ARTICLES = {name: Agreement(*agreement) for name, agreement in WORDS["titles"].items()}
TITLE = re.compile(r"(Ο|Η|Το|Οι|Τα) ")
KEEPS_N = re.compile(r"[αεηιουωκπτξψ]|μπ|ντ|γκ|[^α-ω]|$")
GREEK = re.compile(r"[\u0370-\u03ff\u1f00-\u1fff’'.0-9-]+")
STOPS = frozenset(WORDS["stops"])
SYLLABLE = re.compile(r"ου|αι|ει|οι|υι|αυ|ευ|ηυ|[αεηιουω]")


def agree_greek(label: str, traits: Traits) -> Agreement:
    """Return the gender by sex, else by kind and by the ending of the first word."""
    kinds = traits.kinds
    if traits.sex:
        return traits.agree()
    # Countries and islands in -ος are feminine (η Κύπρος, η Ρόδος), languages plural neuters (τα
    # ελληνικά). Labels in Latin letters or without declension follow their kind.
    words = [strip_accents(word) for word in label.lower().split(" ")]
    head = words[1] if words[0] in WORDS["adverbs"] and len(words) > 1 else words[0]
    if "language" in kinds and re.search("[αά]$", words[-1]) and not head.endswith("γλωσσα"):
        return Agreement(NEUT, PL)
    if "human" not in kinds and head in WORDS["neuters"]:
        return Agreement(NEUT)
    if head in WORDS["plural_neuters"] or (head.endswith("ικα") and len(words) > 1):
        return Agreement(NEUT, PL)
    if title := TITLE.match(label):
        return TITLE_ARTICLES[title[1]]
    ended = _agree_by_ending(head, kinds)
    if "human" in kinds:
        return ended if ended and ended.gender == FEM else Agreement(MASC, SG, False)
    if ended:
        return ended
    if "band" in kinds:
        return Agreement(MASC, PL)
    return Agreement(FEM if kinds & FEMININE_KINDS else NEUT, SG, bool(kinds))


def _agree_by_ending(head: str, kinds: frozenset[str]) -> Agreement | None:
    """Return the agreement of an ending without accents, or None if it is ambiguous."""
    land = bool(kinds & {"country", "island"})
    if head.endswith(("ες", "εις")):
        return Agreement(FEM, PL)
    if head.endswith("οι") and not kinds & {"country", "region", "city"}:
        return Agreement(MASC, PL)
    if head.endswith("ος") and "human" not in kinds and NEUTERS_IN_OS.fullmatch(head):
        return Agreement(NEUT)
    if head.endswith("ος"):
        feminine = land and head not in WORDS["masculine_lands"]
        return Agreement(FEM if feminine or FEMININES_IN_OS.fullmatch(head) else MASC)
    if head.endswith(("ης", "ας", "ους")):
        return Agreement(MASC)
    if head.endswith("μα") and not land:
        return Agreement(NEUT)
    if head.endswith(("α", "η", "ω", "ις")):
        return Agreement(FEM)
    return Agreement(NEUT) if head.endswith(("ο", "ι", "υ")) else None


def write_greek_article(name: str, form: str, entity: PromptEntity, case: str) -> Phrase:
    """Return the article before a label in a case."""
    gender, number, _ = entity.agreement
    case = case if case in ("GEN", "ACC") else "NOM"
    if name == "INDEF":
        return Phrase(WORDS["indefinite"][gender][case] if number == SG else "", form)
    if name == "DEF" and case == "NOM" and TITLE.match(form):
        return Phrase("", form)
    # σε takes the accusative. την and στην keep their ν before a vowel, before κ π τ ξ ψ μπ ντ γκ
    # τσ τζ, and before other scripts.
    article = WORDS["definite"][gender][number]["ACC" if name == "PREPDEF" else case]
    if article == "την" and not KEEPS_N.match(strip_accents(form.lower())):
        article = "τη"
    return Phrase(f"σ{article}" if name == "PREPDEF" else article, form)


def strip_accents(text: str) -> str:
    """Return the text without accents and diaereses."""
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


class Greek(Inflector):
    """Gives each word, up to an article, a preposition or a genitive, the ending of its gender."""

    name = "endings (el)"

    def inflect(self, request: CasedLabel) -> str | None:
        """Return the label in the case, or None if the ending of a word is ambiguous."""
        label, case, gender, number, kinds = request
        head, tail = split_tail(label, (" (", ", "))
        if case == "NOM" or (gender == NEUT and case == "ACC" and GREEK.match(head)):
            return label
        if gender is None or number not in (None, SG) or case not in ("GEN", "ACC"):
            return None
        words = head.split(" ")
        # After a man's name, -ας and -ης are nominatives: Γιώργος Σεφέρης.
        man = gender == MASC and "human" in kinds
        genitives = ("ου", "ων") if man else ("ας", "ης", "ου", "ων")
        stops = (
            at
            for at, word in enumerate(words)
            if word in STOPS or (at and strip_tonos(word).endswith(genitives))
        )
        until = next(stops, len(words))
        if words[0] in WORDS["foreign"] or not all(map(GREEK.fullmatch, words[:until])):
            return None
        forms = [decline_greek(word, case, gender) for word in words[:until]]
        if not forms or None in forms:
            return None
        return " ".join([*filter(None, forms), *words[until:]]) + tail


def decline_greek(word: str, case: str, gender: str) -> str | None:
    """Return a word in the genitive or accusative singular, or None if it is unknown.

    >>> decline_greek("Ελλάδα", "GEN", "FEM"), decline_greek("Πέτρος", "ACC", "MASC")
    ('Ελλάδας', 'Πέτρο')
    >>> decline_greek("άνθρωπος", "GEN", "MASC") is decline_greek("Όσλο", "GEN", "NEUT") is None
    True
    """
    if word.isupper() or word.isdigit():
        return word
    if gender == NEUT and case == "GEN" and word in WORDS["genitives"]:
        return str(WORDS["genitives"][word])
    plain = strip_tonos(word)
    if case == "ACC" and (gender == NEUT or (gender == FEM and not plain.endswith("ος"))):
        return word
    endings = WORDS["endings"][case].get(gender, {})
    for ending, new in endings.items():
        if plain.endswith(ending) and not (new in ("ου", "ους") and _is_early(word)):
            accented = word[-len(ending) :] != plain[-len(ending) :]
            return word[: -len(ending)] + (_accent(new) if accented else new)
    # Words in another consonant than ς do not inflect; stems in -ων, -ωρ, -ξ and -ψ are unknown.
    closed = plain[-1:] not in "αεηιουως" and not plain.endswith(("ων", "ωρ", "ξ", "ψ"))
    foreign = gender == MASC and (plain[-1:] in "αεηιουω" or plain.endswith("ις"))
    foreign = foreign or (gender == FEM and plain[-1:] in "ειου")  # Κιουρί
    return word if closed or foreign else None


def _is_early(word: str) -> bool:
    """Return whether the accent is on the third last syllable, where it may move."""
    rest = unicodedata.normalize("NFD", word.casefold()).partition("\u0301")[2]
    return len(SYLLABLE.findall(strip_tonos(rest))) >= 2


def strip_tonos(word: str) -> str:
    """Return the word without accents; a diaeresis stays."""
    return unicodedata.normalize("NFD", word).replace("\u0301", "")


def _accent(ending: str) -> str:
    """Return an ending with the accent on its vowel: ης, ής; ου, ού."""
    at = max(ending.rfind(letter) for letter in "αηουω" if letter in ending)
    return unicodedata.normalize("NFC", f"{ending[: at + 1]}\u0301{ending[at + 1 :]}")
