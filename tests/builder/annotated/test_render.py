"""Rendered samples of each construct, in handwritten templates."""

import pytest

from polyprobe.builder.annotated.entities import (
    FEM,
    MASC,
    NEUT,
    PL,
    Agreement,
    PromptEntity,
    Traits,
)
from polyprobe.builder.annotated.grammar import parse_prompt
from polyprobe.builder.annotated.languages import RULES
from polyprobe.builder.annotated.render import GUESSED, KEPT, PLACES, SINGULAR, Renderer


def of(*kinds, sex=""):
    return Traits(sex, frozenset(kinds))


NOBODY = Traits()
HE, SHE, SOMEBODY = of("human", sex=MASC), of("human", sex=FEM), of("human")
CITY, COUNTRY, REGION, LANGUAGE = of("city"), of("country"), of("region"), of("language")
ISLAND, COMPANY, BAND, JOB = of("island"), of("company"), of("band"), of("profession")


def render(language, prompt, subject, object_, subject_traits=NOBODY, object_traits=NOBODY):
    renderer = Renderer(language)
    given = (parse_prompt(prompt), subject, object_, subject_traits, object_traits)
    text, form, lost = renderer.render(*given)
    assert text.count("[Y]") == prompt.count("[Y")
    return text.replace("[Y]", form), lost


RU = "[X.Nom] [пел;X-Gender=MASC|пела;X-Gender=FEM|пело;X-Gender=NEUT] в [Y.Ess] ."


@pytest.mark.parametrize(
    ("prompt", "subject", "object_", "traits", "text", "lost"),
    [
        (RU, "Анна", "Москва", (SHE, CITY), "Анна пела в Москве .", ()),
        (RU, "Карл", "Франция", (HE, COUNTRY), "Карл пел во Франции .", ()),
        (RU, "Радио", "Вена", (NOBODY, CITY), "Радио пело в Вене .", ()),
        (RU, "Саша", "Осло", (SOMEBODY, CITY), "Саша пел в Осло .", (GUESSED,)),
        (RU, "Альпы", "Вена", (NOBODY, CITY), "Альпы пел в Вене .", (SINGULAR,)),
        (RU, "Анна", "Berlin", (SHE, CITY), "Анна пела в Berlin .", (KEPT,)),
        ("Песня [X.Gen] с [Y.Ins] .", "Анна", "Швеция", (SHE, COUNTRY),
         "Песня Анны со Швецией .", ()),
        ("Песня о [X.Ess] по [Y.Dat] .", "Дания", "радио", (COUNTRY, NOBODY),
         "Песня о Дании по радио .", ()),
        ("[Y.Nom] [пел;Y-Gender=MASC|пела;Y-Gender=FEM|пело;Y-Gender=NEUT] с [X.Ins] .", "Карл",
         "Анна", (HE, SHE), "Анна пела с Карлом .", ()),
    ],
)  # fmt: skip
def test_russian(prompt, subject, object_, traits, text, lost):
    assert render("ru", prompt, subject, object_, *traits) == (text, lost)


FR = "[ARTDEF;X] [X] [chanté;X-Gender=MASC|chantée;X-Gender=FEM] [PREPLOC;Y] [Y] ."
OF, AT = "le nom [PREPDEF;Y] [Y] : [X]", "[X] va [PREPDEF-à;Y] [Y]"


@pytest.mark.parametrize(
    ("prompt", "subject", "object_", "traits", "text", "lost"),
    [
        (FR, "Anne", "Japon", (SHE, COUNTRY), "Anne chantée au Japon .", ()),
        (FR, "Jean", "France", (HE, COUNTRY), "Jean chanté en France .", ()),
        (FR, "France", "États-Unis", (COUNTRY, COUNTRY), "La France chantée aux États-Unis .", ()),
        (FR, "Iran", "Iran", (COUNTRY, COUNTRY), "L'Iran chanté en Iran .", ()),
        (FR, "Québec", "Paris", (REGION, CITY), "Le Québec chanté à Paris .", ()),
        (FR, "Pays-Bas", "Cuba", (COUNTRY, of("country", "island")),
         "Les Pays-Bas chanté à Cuba .", (SINGULAR,)),
        (FR, "Mexique", "Le Caire", (COUNTRY, CITY), "Le Mexique chanté au Caire .", ()),
        (FR, "Hongrie", "La Haye", (COUNTRY, CITY), "La Hongrie chantée à La Haye .", ()),
        (FR, "Pays de Galles", "Les Sables", (COUNTRY, CITY),
         "Le Pays de Galles chanté aux Sables .", ()),
        (FR, "Anne", "Haïti", (SHE, COUNTRY), "Anne chantée en Haïti .", ()),
        (FR, "Anne", "Empire romain", (SHE, COUNTRY), "Anne chantée dans l'Empire romain .", ()),
        (FR, "Oscar Wilde", "Naples", (HE, of("city", "country")),
         "Oscar Wilde chanté à Naples .", ()),
        (FR, "Anne", "Californie", (SHE, REGION), "Anne chantée en Californie .", ()),
        (FR, "Anne", "Sicile", (SHE, ISLAND), "Anne chantée en Sicile .", ()),
        (FR, "Anne", "Israël", (SHE, COUNTRY), "Anne chantée en Israël .", ()),
        (FR, "Anne", "université de Lyon", (SHE, NOBODY),
         "Anne chantée à l'université de Lyon .", ()),
        (FR, "Anne", "Xanadu", (SHE, NOBODY), "Anne chantée à Xanadu .", (PLACES,)),
        (OF, "X", "France", (NOBODY, COUNTRY), "le nom de la France : X", ()),
        (OF, "X", "Japon", (NOBODY, COUNTRY), "le nom du Japon : X", ()),
        (OF, "X", "Espagne", (NOBODY, COUNTRY), "le nom de l'Espagne : X", ()),
        (OF, "X", "États-Unis", (NOBODY, COUNTRY), "le nom des États-Unis : X", ()),
        (OF, "X", "Paris", (NOBODY, CITY), "le nom de Paris : X", ()),
        (OF, "X", "Athènes", (NOBODY, CITY), "le nom d'Athènes : X", ()),
        (OF, "X", "Le Havre", (NOBODY, CITY), "le nom du Havre : X", ()),
        (OF, "X", "La Havane", (NOBODY, CITY), "le nom de La Havane : X", ()),
        (OF, "X", "L'Aquila", (NOBODY, CITY), "le nom de L'Aquila : X", ()),
        (OF, "X", "Himalaya", (NOBODY, of("mountain")), "le nom de l'Himalaya : X", ()),
        (OF, "X", "Congrès national", (NOBODY, NOBODY), "le nom du Congrès national : X", ()),
        (OF, "X", "médecine", (NOBODY, JOB), "le nom de la médecine : X", ()),
        (OF, "X", "trombone", (NOBODY, NOBODY), "le nom du trombone : X", ()),
        (OF, "X", "ellipse", (NOBODY, NOBODY), "le nom de l'ellipse : X", ()),
        (OF, "X", "kinase", (NOBODY, NOBODY), "le nom de la kinase : X", (GUESSED,)),
        (OF, "X", "guitare", (NOBODY, NOBODY), "le nom de la guitare : X", ()),
        (OF, "X", "piano", (NOBODY, NOBODY), "le nom du piano : X", ()),
        (OF, "X", "harpe", (NOBODY, NOBODY), "le nom de la harpe : X", ()),
        (OF, "X", "histoire", (NOBODY, NOBODY), "le nom de l'histoire : X", ()),
        (OF, "X", "mathématiques", (NOBODY, NOBODY), "le nom des mathématiques : X", ()),
        (AT, "Jean", "Parti vert", (HE, NOBODY), "Jean va au Parti vert", ()),
        (AT, "Jean", "Union européenne", (HE, NOBODY), "Jean va à l'Union européenne", ()),
        (AT, "Jean", "Microsoft", (HE, COMPANY), "Jean va à Microsoft", ()),
        ("[X] est [ARTIND;Y] [Y]", "Jean", "acteur", (HE, JOB), "Jean est un acteur", ()),
        ("[X] est [ARTIND;Y] [Y]", "Lyon", "ville", (CITY, NOBODY), "Lyon est une ville", ()),
        # articles and prepositions of the template before the rendered label
        ("[X] sort de [ARTDEF;Y] [Y]", "Jean", "lycée", (HE, NOBODY), "Jean sort du lycée", ()),
        ("[X] va à [ARTDEF;Y] [Y]", "Jean", "Parti vert", (HE, NOBODY),
         "Jean va au Parti vert", ()),
        ("le nom de [X] : [Y]", "Albert", "Paris", (HE, CITY), "le nom d'Albert : Paris", ()),
        ("le nom de [X] : [Y]", "Yémen", "Paris", (COUNTRY, CITY), "le nom de Yémen : Paris", ()),
        ("[X] lit [ARTDEF;Y] [Y]", "Jean", "Le Monde", (HE, NOBODY), "Jean lit Le Monde", ()),
        ("[X] parle [ARTDEF;Y] [Y]", "Jean", "anglais", (HE, LANGUAGE), "Jean parle l'anglais", ()),
    ],
)  # fmt: skip
def test_french(prompt, subject, object_, traits, text, lost):
    assert render("fr", prompt, subject, object_, *traits) == (text, lost)


EL = "[DEF;X] [X.Nom] [ζει;X-Number=SG|ζουν;X-Number=PL] [PREPDEF;Y] [Y.Acc] ."
ΤΟΥ = "το όνομα [DEF;Y] [Y.Gen] : [X]"


@pytest.mark.parametrize(
    ("prompt", "subject", "object_", "traits", "text", "lost"),
    [
        (EL, "Πέτρος", "Ελλάδα", (HE, COUNTRY), "Ο Πέτρος ζει στην Ελλάδα .", ()),
        (EL, "Μαρία", "Γαλλία", (SHE, COUNTRY), "Η Μαρία ζει στη Γαλλία .", ()),
        (EL, "Μαρία", "Κύπρος", (SHE, ISLAND), "Η Μαρία ζει στην Κύπρο .", ()),
        (EL, "Μαρία", "Παρίσι", (SHE, CITY), "Η Μαρία ζει στο Παρίσι .", ()),
        (EL, "Μαρία", "Καναδάς", (SHE, COUNTRY), "Η Μαρία ζει στον Καναδά .", ()),
        (EL, "Μαρία", "Λίβανος", (SHE, COUNTRY), "Η Μαρία ζει στον Λίβανο .", ()),
        (EL, "Μαρία", "Άγιος Μαρίνος", (SHE, COUNTRY), "Η Μαρία ζει στον Άγιο Μαρίνο .", ()),
        (EL, "Μαρία", "Τέξας", (SHE, REGION), "Η Μαρία ζει στο Τέξας .", ()),
        (EL, "Μαρία", "Πάφος", (SHE, CITY), "Η Μαρία ζει στην Πάφο .", ()),
        (EL, "Μαρία", "δάσος", (SHE, NOBODY), "Η Μαρία ζει στο δάσος .", ()),
        (ΤΟΥ, "Χ", "Διεθνής Ένωση", (NOBODY, NOBODY), "το όνομα της Διεθνής Ένωση : Χ", (KEPT,)),
        (EL, "Beatles", "Ηνωμένες Πολιτείες", (BAND, COUNTRY),
         "Οι Beatles ζουν στις Ηνωμένες Πολιτείες .", (KEPT,)),
        (EL, "Google", "Google", (COMPANY, COMPANY), "Η Google ζει στην Google .", (KEPT,)),
        (EL, "Xyz", "Πάτρα", (NOBODY, CITY), "Το Xyz ζει στην Πάτρα .", (GUESSED,)),
        (ΤΟΥ, "Χ", "Παρίσι", (NOBODY, CITY), "το όνομα του Παρισιού : Χ", ()),
        (ΤΟΥ, "Χ", "Νέα Υόρκη", (NOBODY, CITY), "το όνομα της Νέας Υόρκης : Χ", ()),
        (ΤΟΥ, "Χ", "Όσλο", (NOBODY, CITY), "το όνομα του Όσλο : Χ", (KEPT,)),
        ("[DEF;X] [X.Nom] με το όνομά [DEF.Gen;X] : [Y]", "Ελλάδα", "Χ", (COUNTRY, NOBODY),
         "Η Ελλάδα με το όνομά της : Χ", ()),
        ("με [DEF;Y.Fem] [Y.Acc] : [X]", "Χ", "Windows", (NOBODY, NOBODY),
         "με την Windows : Χ", (KEPT,)),
        ("[X] : [INDEF;Y] [Y.Nom]", "Χ", "πόλη", (NOBODY, NOBODY), "Χ : μία πόλη", ()),
        ("[X] : [INDEF;Y] [Y.Acc]", "Χ", "πίνακας", (NOBODY, NOBODY), "Χ : έναν πίνακα", ()),
        ("[DEF;X] [X.Nom] : [Y]", "Ο Νονός", "Χ", (NOBODY, NOBODY), "Ο Νονός : Χ", ()),
    ],
)  # fmt: skip
def test_greek(prompt, subject, object_, traits, text, lost):
    assert render("el", prompt, subject, object_, *traits) == (text, lost)


MIXED = "[X] [fue;X-Number=SG|fueron;X-Number=PL] [visto;X-Gender=MASC|vista;X-Gender=FEM|vistos;X-Number=PL] : [Y]"  # noqa: E501


@pytest.mark.parametrize(
    ("prompt", "subject", "object_", "traits", "text", "lost"),
    [
        ("[X] toca [DEF;Y] [Y]", "Ana", "guitarra", (SHE, NOBODY), "Ana toca la guitarra", ()),
        ("[X] toca [DEF;Y] [Y]", "Ana", "piano", (SHE, NOBODY), "Ana toca el piano", ()),
        ("[X] toca [DEF;Y] [Y]", "Ana", "arpa", (SHE, NOBODY), "Ana toca el arpa", ()),
        ("[X] toca [DEF;Y] [Y]", "Ana", "trompetas", (SHE, NOBODY), "Ana toca las trompetas", ()),
        ("[X] es [ART;X-Gender] [Y]", "Ana", "ballet", (SHE, NOBODY), "Ana es una ballet", ()),
        ("[X] es [ART;Y-Gender] [Y]", "Ana", "poema", (SHE, NOBODY), "Ana es un poema", ()),
        ("[X] es [ART;Y-Gender] [Y]", "Lima", "ciudad", (CITY, NOBODY), "Lima es una ciudad", ()),
        ("sale de [DEF;Y] [Y] [X]", "Ana", "colegio", (SHE, NOBODY), "sale del colegio Ana", ()),
        ("[sola;Y-Gender=FEM|solo;Y-Gender=MASC] con [X] [Y]", "Ana", "Pedro", (SHE, HE),
         "Solo con Ana Pedro", ()),
        (MIXED, "Ana", "X", (SHE, NOBODY), "Ana fue vista : X", ()),
        (MIXED, "Pedro", "X", (HE, NOBODY), "Pedro fue visto : X", ()),
        (MIXED, "Queen", "X", (BAND, NOBODY), "Queen fueron vistos : X", ()),
        (MIXED, "Ari", "X", (SOMEBODY, NOBODY), "Ari fue visto : X", (GUESSED,)),
    ],
)  # fmt: skip
def test_spanish(prompt, subject, object_, traits, text, lost):
    assert render("es", prompt, subject, object_, *traits) == (text, lost)


HEBREW = "[X] [שר;X-Gender=MASC|שרה;X-Gender=FEM] ב[Y] ."
MARATHI = "[X]चा [गातो;X-Gender=MASC|गाते;X-Gender=FEM] [Y.LOC] ."


@pytest.mark.parametrize(
    ("language", "prompt", "subject", "object_", "traits", "text", "lost"),
    [
        ("he", HEBREW, "דן", "חיפה", (HE, CITY), "דן שר בחיפה .", ()),
        ("he", HEBREW, "חיפה", "חיפה", (CITY, CITY), "חיפה שרה בחיפה .", ()),
        ("he", HEBREW, "מרי", "הולנד", (SHE, COUNTRY), "מרי שרה בהולנד .", ()),
        ("he", HEBREW, "מרי", "הממלכה המאוחדת", (SHE, COUNTRY), "מרי שרה בממלכה המאוחדת .", ()),
        ("he", "[X] שר ב[Y]", "דן", "הר הבית", (HE, NOBODY), "דן שר בהר הבית", ()),
        ("he", "[X] שר ב[Y]", "דן", "התאחדות הכדורגל", (HE, NOBODY), "דן שר בהתאחדות הכדורגל", ()),
        ("he", "ל[X] יש [Y]", "האיחוד האירופי", "דגל", (NOBODY, NOBODY),
         "לאיחוד האירופי יש דגל", ()),
        ("tr", "[X] [Y.Loc]", "Ada", "İstanbul", (SHE, CITY), "Ada İstanbul'da", ()),
        ("tr", "[X.Gen] dili [Y;be]", "Ada", "Türkçe", (SHE, LANGUAGE), "Ada'nın dili Türkçedir",
         ()),
        ("tr", "[X] [Y.Dat]", "Ada", "Apollo 13", (SHE, NOBODY), "Ada Apollo 13", (KEPT,)),
        ("tr", "[X.Loc] [Y.Dat]", "Apollo 11", "Apollo 13", (NOBODY, NOBODY),
         "Apollo 11 Apollo 13", (KEPT,)),
        ("hu", "[X] a [Y]", "Éva", "Észtország", (SHE, COUNTRY), "Éva az Észtország", ()),
        ("hu", "[X] a [Y.INST]", "Éva", "Ausztria", (SHE, COUNTRY), "Éva az Ausztriával", ()),
        ("hu", "[X.ACC] [Y.IN+ESS]", "Éva", "London", (SHE, CITY), "Évát Londonban", ()),
        ("hu", "[X] [Y.IN+ESS]", "Éva", "Budapest", (SHE, of("city", "Hungarian town")),
         "Éva Budapesten", ()),
        ("hu", "[X] [Y.IN+ESS]", "Éva", "Greenwich", (SHE, CITY), "Éva Greenwich", (KEPT,)),
        ("bn", "[X.GEN] [human: এক ; non-human: দুই] [Y.LOC] ।", "রানা", "ঢাকা", (HE, CITY),
         "রানার এক ঢাকায় ।", ()),
        ("bn", "[X] [human: এক ; non-human: দুই] [Y]", "ঢাকা", "লন্ডন", (CITY, CITY),
         "ঢাকা দুই লন্ডন", ()),
        ("mr", MARATHI, "सीता", "दिल्ली", (SHE, CITY), "सीताचा गाते दिल्लीत .", ()),
        ("mr", MARATHI, "राम", "पुणे", (HE, CITY), "रामचा गातो पुणे .", (KEPT,)),
        ("en", "[X] sings in [Y] .", "Ann", "Rome", (SHE, CITY), "Ann sings in Rome .", ()),
        ("ja", "[X]は[Y]", "アン", "ローマ", (SHE, CITY), "アンはローマ", ()),
        ("en", "[Y] [X.Gen]", "Ann", "Rome", (SHE, CITY), "Rome Ann", (KEPT,)),
    ],
)  # fmt: skip
def test_other_languages(language, prompt, subject, object_, traits, text, lost):
    assert render(language, prompt, subject, object_, *traits) == (text, lost)


def test_the_slot_has_the_form_without_the_article_that_went_into_the_sentence():
    prompt = parse_prompt("[X] [PREPLOC;Y] [Y] .")
    rendering = Renderer("fr").render(prompt, "Anne", "Le Caire", SHE, CITY)
    assert rendering == ("Anne au [Y] .", "Caire", ())


@pytest.mark.parametrize(
    ("language", "traits", "gender", "number", "labels"),
    [
        ("el", COUNTRY, NEUT, PL, "Ηνωμένα Αραβικά Εμιράτα"),
        ("el", ISLAND, FEM, "SG", "Ρόδος"),
        ("el", LANGUAGE, NEUT, PL, "ισπανικά"),
        ("el", CITY, NEUT, "SG", "Λος Άντζελες, Σικάγο"),
        ("el", NOBODY, NEUT, "SG", "όνομα"),
        ("fr", COUNTRY, MASC, "SG", "Mozambique"),
        ("fr", COUNTRY, FEM, PL, "Philippines"),
        ("fr", NOBODY, MASC, "SG", "violoncelle, journalisme, judaïsme"),
        ("fr", NOBODY, FEM, "SG", "trompette, chimie"),
        ("es", NOBODY, FEM, "SG", "medalla de oro, mano"),
        ("es", NOBODY, MASC, "SG", "idioma"),
        ("he", NOBODY, FEM, "SG", "אוניברסיטה"),
        ("he", COUNTRY, FEM, "SG", "צרפת"),
        ("he", NOBODY, MASC, "SG", "ספר"),
    ],
)
def test_gender_and_number_by_kind_and_ending(language, traits, gender, number, labels):
    for label in labels.split(", "):
        assert RULES[language].agree(label, traits)[:2] == (gender, number), label


def test_sex_is_stronger_than_any_ending():
    for language, rules in RULES.items():
        assert rules.agree("Andrea", SHE) == Agreement(FEM), language
    assert Renderer("ru").describe("Никита", HE) == PromptEntity("Никита", HE, Agreement(MASC))
