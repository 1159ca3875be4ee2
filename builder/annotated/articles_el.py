"""Greek: gender and number of labels, articles, σε before them."""

import re
import unicodedata

from .entities import Entity, Phrase
from .gender import FEM, MASC, NEUT, PL, SG, Agreement, Traits, agree_plainly

DEFINITE = {
    (MASC, SG): {"NOM": "ο", "GEN": "του", "ACC": "τον"},
    (FEM, SG): {"NOM": "η", "GEN": "της", "ACC": "την"},
    (NEUT, SG): {"NOM": "το", "GEN": "του", "ACC": "το"},
    (MASC, PL): {"NOM": "οι", "GEN": "των", "ACC": "τους"},
    (FEM, PL): {"NOM": "οι", "GEN": "των", "ACC": "τις"},
    (NEUT, PL): {"NOM": "τα", "GEN": "των", "ACC": "τα"},
}
INDEFINITE = {
    MASC: {"NOM": "ένας", "GEN": "ενός", "ACC": "έναν"},
    FEM: {"NOM": "μία", "GEN": "μίας", "ACC": "μία"},
    NEUT: {"NOM": "ένα", "GEN": "ενός", "ACC": "ένα"},
}
# Without accents: first words of foreign names, which tell no gender, and adverbs.
NEUTERS = {"λος", "λας", "σαν", "σαο", "σαντα", "ελ", "νιου", "μπουενος", "ριο", "πορτ", "ντε",
           "τεξας", "κανσας", "αρκανσας"}  # fmt: skip
ADVERBS = {"κατω", "ανω", "διεθνης"}  # or an adjective that tells no gender
PLURAL_NEUTERS = {"ηνωμενα", "νησια", "σκοπια", "τιρανα", "βαλκανια", "εμιρατα", "χανια",
                  "μπαρμπαντος"}  # fmt: skip
FEMININE_KINDS = frozenset({"company", "record label", "club", "island"})
# Without accents: nouns in -ος that are neuter or feminine, and lands in -ος that are neither.
NEUTERS_IN_OS = re.compile(r"δασος|επος|αργος|ορος|.*(ειδος|γενος|μελος|κρατος|σκαφος|σμηνος)")
FEMININES_IN_OS = re.compile(r"παφος|κνιδος|κορινθος|.*(νησος|οδος|ηπειρος)")
MASCULINE_LANDS = {"λιβανος", "ισημερινος", "μαυρικιος", "αγιος", "πορος"}
# A title's own article: Ο Νονός.
OWN_ARTICLES = {"Ο": Agreement(MASC), "Η": Agreement(FEM), "Το": Agreement(NEUT),
                "Οι": Agreement(MASC, PL), "Τα": Agreement(NEUT, PL)}  # fmt: skip
OWN = re.compile(r"(Ο|Η|Το|Οι|Τα) ")
KEEPS_N = re.compile(r"[αεηιουωκπτξψ]|μπ|ντ|γκ")


def agree(label: str, traits: Traits) -> Agreement:
    """Return the gender by sex, else by kind and by the ending of the first word.

    Countries and islands in -ος are feminine (η Κύπρος, η Ρόδος), languages plural neuters (τα
    ελληνικά); what is written in Latin letters or does not decline goes by its kind: firms, clubs
    and labels feminine, bands many, else a neuter, which is said not to be sure.
    """
    kinds = traits.kinds
    if traits.sex:
        return agree_plainly(label, traits)
    words = [strip_accents(word) for word in label.lower().split(" ")]
    head = words[1] if words[0] in ADVERBS and len(words) > 1 else words[0]
    if "language" in kinds and re.search("[αά]$", words[-1]) and not head.endswith("γλωσσα"):
        return Agreement(NEUT, PL)
    if "human" not in kinds and head in NEUTERS:
        return Agreement(NEUT)
    if head in PLURAL_NEUTERS or (head.endswith("ικα") and len(words) > 1):
        return Agreement(NEUT, PL)
    if own := OWN.match(label):
        return OWN_ARTICLES[own[1]]
    ended = agree_by_ending(head, kinds)
    if "human" in kinds:
        return ended if ended and ended.gender == FEM else Agreement(MASC, SG, False)
    if ended:
        return ended
    if "band" in kinds:
        return Agreement(MASC, PL)
    return Agreement(FEM if kinds & FEMININE_KINDS else NEUT, SG, bool(kinds))


def agree_by_ending(head: str, kinds: frozenset[str]) -> Agreement | None:
    """Return what an ending without accents tells, None where it tells nothing."""
    land = bool(kinds & {"country", "island"})
    if head.endswith(("ες", "εις")):
        return Agreement(FEM, PL)
    if head.endswith("οι") and not kinds & {"country", "region", "city"}:
        return Agreement(MASC, PL)
    if head.endswith("ος") and "human" not in kinds and NEUTERS_IN_OS.fullmatch(head):
        return Agreement(NEUT)
    if head.endswith("ος"):
        feminine = FEMININES_IN_OS.fullmatch(head) or (land and head not in MASCULINE_LANDS)
        return Agreement(FEM if feminine else MASC)
    if head.endswith(("ης", "ας", "ους")):
        return Agreement(MASC)
    if head.endswith("μα") and not land:
        return Agreement(NEUT)
    if head.endswith(("α", "η", "ω", "ις")):
        return Agreement(FEM)
    return Agreement(NEUT) if head.endswith(("ο", "ι", "υ")) else None


def write_article(name: str, form: str, entity: Entity, case: str) -> Phrase | None:
    """Return the article before a label in a case, None for a name that Greek does not have.

    After σε stands the accusative; την and στην keep their ν before a vowel and κ π τ ξ ψ μπ ντ γκ
    τσ τζ, and before what is not written in Greek; there is no indefinite article of many.
    """
    gender, number, _ = entity.agreement
    case = case if case in ("GEN", "ACC") else "NOM"
    if name == "INDEF":
        return Phrase(INDEFINITE[gender][case] if number == SG else "", form)
    if name not in ("DEF", "PREPDEF"):
        return None
    if name == "DEF" and case == "NOM" and OWN.match(form):
        return Phrase("", form)
    article = DEFINITE[gender, number]["ACC" if name == "PREPDEF" else case]
    if article == "την" and not keeps_n(form):
        article = "τη"
    return Phrase(f"σ{article}" if name == "PREPDEF" else article, form)


def keeps_n(label: str) -> bool:
    """Tell whether την stays whole before a label."""
    plain = strip_accents(label.lower())
    return not re.match(r"[α-ω]", plain) or bool(KEEPS_N.match(plain))


def strip_accents(text: str) -> str:
    """Return the text without accents and diaereses."""
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))
