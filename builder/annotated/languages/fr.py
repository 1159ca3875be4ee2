"""French: gender and number of labels, articles, prepositions with them, elision."""

import re

from polyprobe.builder.annotated.entities import (
    END,
    FEM,
    MARK,
    MASC,
    PL,
    SG,
    Agreement,
    Phrase,
    PromptEntity,
    Traits,
    agree_plainly,
)

OWN = re.compile(r"(Les|Le|La|L['’])(?:(?<=['’])| )(?=\S)")
LANDS = frozenset({"country", "continent", "region", "river", "mountain"})
OF = {"le": "du", "la": "de la", "les": "des", "l'": "de l'", "": "de"}
AT = {"le": "au", "la": "à la", "les": "aux", "l'": "à l'", "": "à"}


def split_words(text: str) -> frozenset[str]:
    """Return the words of a text, split at spaces."""
    return frozenset(text.split())


# Nouns that begin names of institutions, which take an article: l'Université de Paris.
HEADS = dict.fromkeys(
    split_words("""
    université organisation union ligue médaille académie fédération association église
    société coupe école république faculté commission communauté cour bibliothèque compagnie
    chambre guerre bataille confédération principauté banque convention armée province
    région ville île mer croix légion assemblée coalition alliance conférence agence
    fondation supercoupe constitution dynastie législature
"""),
    FEM,
) | dict.fromkeys(
    split_words("""
    parti prix ordre institut comité conseil championnat festival collège royaume empire
    département comté canton état district gouvernement sénat parlement musée théâtre lac
    mont fleuve front mouvement grand-duché duché ministère bureau centre oscar tournoi
    lycée congrès nouveau territoire circuit conservatoire
"""),
    MASC,
)
COUNTRIES_MASCULINE = frozenset({"Mexique", "Cambodge", "Mozambique", "Zimbabwe", "Belize",
                                 "Suriname", "Maine", "Tennessee", "Delaware", "Rhône", "Danube",
                                 "Caucase", "Perche", "Maghreb", "Bengale", "Rhode",
                                 "Troisième"})  # fmt: skip
COUNTRIES_PLURAL = dict.fromkeys(
    ("États", "Pays", "Émirats", "Balkans", "Territoires"), MASC
) | dict.fromkeys(
    ("Philippines", "Seychelles", "Maldives", "Comores", "Bahamas", "Fidji", "Îles", "Antilles",
     "Açores", "Canaries", "Provinces", "Alpes", "Pyrénées", "Andes", "Bermudes"), FEM,
)  # fmt: skip
COUNTRIES_PLAIN = frozenset({
    "Israël", "Cuba", "Chypre", "Malte", "Singapour", "Monaco", "Saint-Marin", "Haïti",
    "Madagascar", "Maurice", "Bahreïn", "Djibouti", "Oman", "Taïwan", "Hong Kong", "Macao", "Nauru",
    "Kiribati", "Tuvalu", "Vanuatu", "Trinité-et-Tobago", "Antigua-et-Barbuda", "Porto Rico",
    "Palaos", "Jersey", "Guernesey", "Hawaï", "Sao Tomé-et-Principe", "Mayotte", "Terre-Neuve",
    "Terre-Neuve-et-Labrador",
})  # fmt: skip
FEMININES = split_words("""
    basse guitare harpe flûte contrebasse lyre voix main mer cité faculté université
    religion foi loi fin dent peau eau chanson prison maison physique logique mécanique
    optique éthique politique affaire grammaire lettre fenêtre lune langue commune rivière
    paroisse histoire cornemuse psychanalyse analyse gare abbaye chapelle cathédrale frontière
    ligne chaîne finale enzyme boxe lutte bière
""")  # fmt: skip
MASCULINES = split_words("""
    orgue violoncelle musée lycée trophée comité comté traité côté groupe livre membre genre
    type siècle peuple théâtre article domaine catholicisme hautbois fleuve royaume empire
    organe programme problème système poème drame film acte arbre centre cadre rite culte
    monde hectare ordre titre verbe acide véhicule nombre violoncelliste cratère
    caractère mystère cimetière frère père règne trombone gène reggae patriarche juge astéroïde
    sucre légume dôme capitole disque diocèse théorème paradoxe quadrangle gratte-ciel espace
    satellite observatoire génome aérodrome âge grunge suicide seigle fantôme module échec
""")  # fmt: skip
MASCULINE = re.compile(
    r"(age|[iï]sme|ment|eau|oir|ège|phone|mètre|gramme|scope|logue|iste|aire|taire|tre|cle|ste|bre"
    r"|ogue|phe|cte)$"
)
FEMININE = re.compile(
    r"(tion|sion|xion|té|ée|ie|ure|ille|ette|esse|euse|trice|ique|ance|ence|ade|ise|aine|ine)$"
)
FEMININE_PERSON = re.compile(r"(té|trice|euse|ière|médecine|vedette|star|recrue)$")
PLURAL = re.compile(
    r"(?<![èé])(ques|ions|tés|oses|ites|ases|ines|ides|phes|ants|ogues|iers|ées|ies|ences|ances|tures|aires|eurs|ents)$"
)
ASPIRATED = split_words("""
    harpe hautbois hockey handball hard heavy hip house haut haute héros hindi hongrois
    hollandais hip-hop hache haine hall halte hamac hanche hareng haricot hasard hausse
    hauteur hérisson héron hêtre hibou hiérarchie homard honte hors houle housse hussard
    huit hautboïste harpiste hockeyeur hardcore
""")  # fmt: skip
# Names with a silent h.
MUTE = frozenset({"Haïti", "Hawaï", "Helsinki", "Hélène", "Homère", "Horace", "Honoré", "Hippolyte",
                  "Hippocrate", "Hector", "Hérault", "Honolulu", "Hadrien", "Hortense", "Henri",
                  "Hercule", "Hérode", "Himalaya", "Hyderabad", "Hermann", "Histoire"})  # fmt: skip


def agree(label: str, traits: Traits) -> Agreement:
    """Return the gender by sex, else by kind and by the ending of the first word.

    Countries in -e are feminine with six exceptions. Professions and languages are masculine,
    companies and clubs feminine (by the authors' rule).
    """
    if traits.sex or "human" in traits.kinds:
        return agree_plainly(label, traits)
    if title := OWN.match(label):
        article = title[1].casefold()
        return Agreement(FEM if article == "la" else MASC, PL if article == "les" else SG)
    first = re.split(r"[ -]", label)[0]
    if first.casefold() in HEADS:
        return Agreement(HEADS[first.casefold()])
    if first in COUNTRIES_PLURAL and label != "Pays de Galles":
        return Agreement(COUNTRIES_PLURAL[first], PL)
    if traits.kinds & {*LANDS, "island"} and not first.islower():
        feminine = re.search(r"(?<!shir)e$", first) and first not in COUNTRIES_MASCULINE
        return Agreement(FEM if feminine or first == "Sierra" else MASC)
    if traits.kinds & {"profession", "language"}:
        return Agreement(FEM if FEMININE_PERSON.search(first) else MASC)
    if traits.kinds & {"company", "club", "record label"}:
        return Agreement(FEM)
    return _agree_by_ending(first.casefold())


def _agree_by_ending(word: str) -> Agreement:
    """Return the gender and number of a word from the tables, else by its ending."""
    number = PL if PLURAL.search(word) else SG
    stem = word[:-1] if number == PL else word
    if stem in FEMININES or stem in MASCULINES:
        return Agreement(FEM if stem in FEMININES else MASC, number)
    if MASCULINE.search(stem) or not (FEMININE.search(stem) or stem.endswith("e")):
        return Agreement(MASC, number)
    return Agreement(FEM, number, bool(FEMININE.search(stem)))


def takes_article(label: str, traits: Traits) -> bool:
    """Return whether a label takes a definite article; among names, only countries and regions do.

    Common nouns are in lower case. Names that begin with a noun like Université take one.
    """
    first = re.split(r"[ -]", label)[0]
    if "human" in traits.kinds or label in COUNTRIES_PLAIN or first in ("Saint", "Sainte", "San"):
        return False
    if traits.kinds & LANDS and "city" not in traits.kinds:
        return True
    island = "island" in traits.kinds and label.endswith("e")
    return island or first.casefold() in HEADS or label[:1].islower()


def write_article(name: str, form: str, entity: PromptEntity, case: str) -> Phrase | None:
    """Return the words before a label for an article of X-FACTR, or None for an unknown one.

    Le and Les at the beginning of a place merge with the preposition, La and L' do not: au Caire, à
    La Haye. A title keeps its own article.
    """
    label, traits, agreement = entity
    gender, number, _ = agreement
    if name == "ARTIND":
        article = "des" if number == PL else "une" if gender == FEM else "un"
        return Phrase(article, label, gendered=number != PL)
    article, form = split_article(label, agreement, traits)
    if form != label and article in ("la", "l'"):
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
    return place_preposition(article, form, traits) if name == "PREPLOC" else None


def split_article(label: str, agreement: Agreement, traits: Traits) -> tuple[str, str]:
    """Return le, la, l', les or '', and the label without its initial article."""
    gender, number, _ = agreement
    title = OWN.match(label)
    form = label[title.end() :] if title else label
    if not title and not takes_article(label, traits):
        return "", form
    if number == PL:
        return "les", form
    return "l'" if elides(form) else "la" if gender == FEM else "le", form


def place_preposition(article: str, form: str, traits: Traits) -> Phrase:
    """Return en, au, aux or à before a place: en before feminines and vowels, à before cities.

    Not certain if the kind of the place is unknown.
    """
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
        return plain not in ASPIRATED and (word[0].islower() or word in MUTE)
    if plain in ("onze", "oui", "uno"):
        return False
    return bool(re.match(r"[aeiouàâäéèêëîïôöùûüœæ]|y[^aeiouéè]", plain))


def join(text: str) -> str:
    """Return the text with articles contracted, and de elided, before marked labels."""
    text = re.sub(rf"\bde (les?) (?={MARK})", lambda match: f"{OF[match[1]]} ", text)
    text = re.sub(rf"\bà (les?) (?={MARK})", lambda match: f"{AT[match[1]]} ", text)
    return re.sub(
        rf"\bde (?={MARK}([^{END}]*))", lambda match: "d'" if elides(match[1]) else match[0], text
    )
