"""French words whose gender, number, article or h no rule tells: facts of grammar."""

import re

from .gender import FEM, MASC


def split_words(text: str) -> frozenset[str]:
    """Return the words between the blanks of a text."""
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
# Names with an h that is not heard.
MUTE = frozenset({"Haïti", "Hawaï", "Helsinki", "Hélène", "Homère", "Horace", "Honoré", "Hippolyte",
                  "Hippocrate", "Hector", "Hérault", "Honolulu", "Hadrien", "Hortense", "Henri",
                  "Hercule", "Hérode", "Himalaya", "Hyderabad", "Hermann", "Histoire"})  # fmt: skip
