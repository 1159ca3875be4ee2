"""French: gender and number of labels, articles, prepositions with them, elision."""

import re

from polyprobe.system.files import read_toml

from ..entities import END, FEM, MARK, MASC, PL, SG, Agreement, Phrase, PromptEntity, Traits

WORDS = read_toml(__package__, "fr.toml")
HEADS = {word: gender for gender, words in WORDS["heads"].items() for word in words}
PLURAL_PLACES = {word: gender for gender, words in WORDS["plural_places"].items() for word in words}
NOUNS = {word: gender for gender, words in WORDS["nouns"].items() for word in words}
ENDINGS = {name: tuple(endings) for name, endings in WORDS["endings"].items()}
PLURAL = re.compile(f"(?<![èé])({'|'.join(ENDINGS['plural'])})$")
ARTICLE = re.compile(r"(Les|Le|La|L['’])(?:(?<=['’])| )(?=\S)")  # a name's own
LANDS = frozenset({"country", "continent", "region", "river", "mountain"})
OF, AT = WORDS["of"], WORDS["at"]  # {article: with the preposition}


def agree_french(label: str, traits: Traits) -> Agreement:
    """Return the gender by sex, else by kind and by the ending of the first word."""
    if traits.is_person:
        return traits.agree()
    if title := ARTICLE.match(label):
        article = title[1].casefold()
        return Agreement(FEM if article == "la" else MASC, PL if article == "les" else SG)
    first = re.split(r"[ -]", label)[0]
    if first.casefold() in HEADS:
        return Agreement(HEADS[first.casefold()])
    if first in PLURAL_PLACES and label != "Pays de Galles":
        return Agreement(PLURAL_PLACES[first], PL)
    # Countries in -e are feminine with six exceptions.
    if traits.kinds & {*LANDS, "island"} and not first.islower():
        feminine = re.search(r"(?<!shir)e$", first) and first not in WORDS["places"]["masculine"]
        return Agreement(FEM if feminine or first == "Sierra" else MASC)
    if traits.kinds & {"profession", "language"}:
        return Agreement(FEM if first.endswith(ENDINGS["feminine_person"]) else MASC)
    if traits.kinds & {"company", "club", "record label"}:
        return Agreement(FEM)
    return _agree_by_ending(first.casefold())


def _agree_by_ending(word: str) -> Agreement:
    """Return the gender and number of a word from the tables, else by its ending."""
    number = PL if PLURAL.search(word) else SG
    stem = word[:-1] if number == PL else word
    if stem in NOUNS:
        return Agreement(NOUNS[stem], number)
    feminine = stem.endswith(ENDINGS["feminine"])
    if stem.endswith(ENDINGS["masculine"]) or not (feminine or stem.endswith("e")):
        return Agreement(MASC, number)
    return Agreement(FEM, number, feminine)


def takes_article(label: str, traits: Traits) -> bool:
    """Return whether a label takes le, la or les."""
    # Among names, only countries and regions do, and those that begin with a noun (Université).
    # Common nouns are in lower case.
    kinds = traits.kinds
    first = re.split(r"[ -]", label)[0]
    plain = label in WORDS["places"]["plain"] or first in ("Saint", "Sainte", "San")
    if "human" in kinds or plain:
        return False
    land = kinds & LANDS and "city" not in kinds
    island = "island" in kinds and label.endswith("e")
    return bool(land or island or first.casefold() in HEADS or label[:1].islower())


def write_french_article(name: str, form: str, entity: PromptEntity, case: str) -> Phrase:
    """Return the words before a label for an article of X-FACTR."""
    label, traits, (gender, number, _) = entity
    if name == "ARTIND":
        article = "des" if number == PL else "une" if gender == FEM else "un"
        return Phrase(article, label, gendered=number != PL)
    # Le and Les of a place merge with the preposition, La and L' do not: au Caire, à La Haye.
    title = ARTICLE.match(label)
    article, form = "", label[title.end() :] if title else label
    if title or takes_article(label, traits):
        singular = "l'" if elides(form) else "la" if gender == FEM else "le"
        article = "les" if number == PL else singular
    if title and article in ("la", "l'"):
        article, form = "", label
    gendered = article in ("le", "la")
    if name == "ARTDEF":
        keeps_article = form != label and not traits.kinds & {*LANDS, "city"}
        return Phrase("", label) if keeps_article else Phrase(article, form, gendered=gendered)
    if name == "PREPDEF":
        before = "d'" if not article and elides(form) else OF[article]
        return Phrase(before, form, gendered=gendered)
    if name == "PREPDEF-à":
        return Phrase(AT[article], form, gendered=gendered)
    return place_preposition(article, form, traits)


def place_preposition(article: str, form: str, traits: Traits) -> Phrase:
    """Return en, au, aux or à before a place: en before feminines and vowels, à before cities."""
    kinds = traits.kinds
    island = "island" in kinds and "country" not in kinds and form.endswith("e")
    if island or form in ("Israël", "Haïti"):
        return Phrase("en", form, gendered=False)
    gendered = article in ("le", "la")
    is_name = not form.startswith(("Empire ", *"abcdefghijklmnopqrstuvwxyzéèêîôœ"))
    if article in ("la", "l'") and kinds & LANDS and is_name:
        return Phrase("en", form, gendered=gendered)
    if article and form.startswith("Empire "):
        return Phrase(f"dans {article}", form, gendered=False)
    # Not certain if the kind of the place is unknown.
    certain = bool(article or kinds & {*LANDS, "city", "island"})
    return Phrase(AT[article], form, certain, gendered)


def elides(label: str) -> bool:
    """Return whether le, la, de lose their vowel before a label.

    >>> [elides(label) for label in ("Égypte", "Yémen", "Yves", "harpe", "histoire", "Honduras")]
    [True, False, True, False, True, False]
    """
    word = re.split(r"[ ,-]", label.strip('«"( '))[0]
    plain = word.casefold()
    if plain.startswith("h"):
        mute = word[0].islower() or word in WORDS["h"]["mute"]
        return mute and plain not in WORDS["h"]["aspirated"]
    if plain in ("onze", "oui", "uno"):
        return False
    return bool(re.match(r"[aeiouàâäéèêëîïôöùûüœæ]|y[^aeiouéè]", plain))


def join_french(text: str) -> str:
    """Return the text with articles contracted, and de elided, before marked labels."""
    for preposition, forms in (("de", OF), ("à", AT)):
        for article in ("le", "les"):
            text = re.sub(rf"\b{preposition} {article}(?= {MARK})", forms[article], text)
    place = rf"\bde (?={MARK}([^{END}]*))"
    return re.sub(place, lambda match: "d'" if elides(match[1]) else match[0], text)
