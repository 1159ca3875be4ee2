"""Inflected labels; the expected forms are from grammars and dictionaries."""

import sys

import pytest

from polyprobe.builder.annotated.entities import FEM, MASC, NEUT, PL, SG, Agreement
from polyprobe.builder.annotated.inflection import CasedLabel, keep_capitals
from polyprobe.builder.annotated.languages import INFLECTIONS, load_inflector
from polyprobe.builder.annotated.languages import slavic as inflection_slavic
from polyprobe.builder.annotated.languages.slavic import decline_name
from polyprobe.system.messages import PolyprobeError

HUMAN, PLACE, LANGUAGE = ("human",), ("city",), ("language",)


def inflect(language, label, case, gender=None, kinds=(), number=None):
    return load_inflector(language).inflect(CasedLabel(label, case, gender, number, kinds))


# Language, case, traits, and labels with their forms; "–": the form cannot be decided.
FORMS = [
    ("tr", "LOC", {"kinds": PLACE}, "İstanbul → İstanbul'da; Sinop → Sinop'ta; ABD → ABD'de"),
    ("tr", "GEN", {"kinds": PLACE}, "Ankara → Ankara'nın; Senegal → Senegal'in"),
    ("tr", "DAT", {"kinds": PLACE}, "İzmir → İzmir'e; Türkiye → Türkiye'ye"),
    ("tr", "ABL", {"kinds": PLACE}, "Paris → Paris'ten"),
    ("tr", "ACC", {"kinds": PLACE}, "Ürgüp → Ürgüp'ü"),
    ("tr", "LOC", {},
     "Ankara Üniversitesi → Ankara Üniversitesi'nde; Paris (film) → Paris'te (film); "
     "saat → saatte; Bergamo ili → Bergamo ilinde; Apollo 13 → –"),
    ("tr", "GEN", {},
     "Avrupa Birliği → Avrupa Birliği'nin; NATO → NATO'nun; kitap → kitabın; top → topun; "
     "Val d'Aran → Val d'Aran'ın"),
    ("tr", "COP", {"kinds": LANGUAGE}, "Türkçe → Türkçedir"),
    ("tr", "COP", {"kinds": PLACE}, "Ankara → Ankara'dır"),
    ("tr", "COP", {}, "filozof → filozoftur; doktor → doktordur"),
    ("tr", "ACC", {}, "köpek → köpeği; renk → rengi; Super Bowl XLVIII → –"),
    ("tr", "ABL", {}, "gitar → gitardan; domates sosu → domates sosundan"),
    ("tr", "LOC", {"kinds": ("company",)}, "Netflix → Netflix'te"),
    ("tr", "ESS", {"kinds": PLACE}, "İstanbul → –"),
    ("hu", "IN+ESS", {"kinds": PLACE},
     "London → Londonban; Berlin → Berlinben; Párizs → Párizsban; Barcelona → Barcelonában; "
     "Kolozsvár → Kolozsváron; Greenwich → –; Seattle → –"),
    ("hu", "IN+ESS", {"kinds": ("city", "Hungarian town")},
     "Budapest → Budapesten; Szolnok → Szolnokon; Debrecen → Debrecenben; Győr → Győrben"),
    ("hu", "IN+ESS", {"kinds": ("region",)}, "Baszkföld → Baszkföldön"),
    ("hu", "IN+ESS", {"kinds": ("island",)}, "Capri → Caprin"),
    ("hu", "IN+ESS", {"kinds": ("city",)}, "Capri → Capriban"),
    ("hu", "IN+ESS", {"kinds": ("island", "country")}, "Kuba → Kubában"),
    ("hu", "IN+ESS", {"kinds": ("country",)},
     "Magyarország → Magyarországon; Németország → Németországban"),
    ("hu", "ON+ESS", {}, "hegedű → hegedűn; zongora → zongorán; gitár → gitáron"),
    ("hu", "INST", {"kinds": ("country",)}, "Ausztria → Ausztriával; Németország → Németországgal"),
    ("hu", "INST", {"kinds": PLACE}, "Bécs → Béccsel; Párizs → Párizzsal; Chile → –"),
    ("hu", "IN+ABL", {}, "nap → napból"),
    ("hu", "DAT", {},
     "algoritmus → algoritmusnak; akciófilm → akciófilmnek; BBC → –; Apollo 13 → –"),
    ("hu", "ACC", {"kinds": PLACE},
     "Berlin → Berlint; Budapest → Budapestet; Franciaország → Franciaországot"),
    ("hu", "ACC", {},
     "Nobel-díj → Nobel-díjat; Római Díj → Római Díjat; "
     "Oscar-díj a legjobb filmnek → Oscar-díjat a legjobb filmnek; "
     "Fields-érem → Fields-érmet; bajnokság → bajnokságot; futball → futballt; "
     "csillagkép → csillagképet"),
    ("bn", "GEN", {},
     "ঢাকা → ঢাকার; লন্ডন → লন্ডনের; টোকিও → টোকিওর; মুম্বই → মুম্বইয়ের; "
     "বেইজিং → বেইজিংয়ের; জি২০ → –"),
    ("bn", "LOC", {}, "ঢাকা → ঢাকায়; লন্ডন → লন্ডনে; দিল্লি → দিল্লিতে; BBC → –"),
    # पुणे: पुण्यात: another stem
    ("mr", "LOC", {},
     "दिल्ली → दिल्लीत; भारत → भारतात; कोल्हापूर → कोल्हापुरात; पुणे → –; BBC → –"),
    ("el", "ACC", {"gender": MASC, "number": SG},
     "Δήμος Κοπεγχάγης → Δήμο Κοπεγχάγης; Καναδάς → Καναδά"),
    ("el", "GEN", {"gender": NEUT, "number": SG}, "δάσος → δάσους; Παρίσι → Παρισιού; Όσλο → –"),
    ("el", "GEN", {"gender": FEM, "number": SG},
     "Χώρα ΝΑΤΟ → Χώρας ΝΑΤΟ; Μαρία Κιουρί → Μαρίας Κιουρί; Λα Ριόχα → –; Ελλάδα → Ελλάδας; "
     "Νέα Υόρκη → Νέας Υόρκης; Κύπρος → Κύπρου; Κάτω Ενότητα Καβάλας → –; "
     "Ενότητα Καβάλας → Ενότητας Καβάλας; "
     "Λαϊκή Δημοκρατία της Κίνας → Λαϊκής Δημοκρατίας της Κίνας; Microsoft → –"),
    # Πλάτων: Πλάτωνα
    ("el", "GEN", {"gender": MASC, "number": SG},
     "Πλάτων → –; ουρανός → ουρανού; Αλβέρτος Αϊνστάιν → Αλβέρτου Αϊνστάιν; άνθρωπος → –"),
    ("el", "ACC", {"gender": FEM, "number": SG}, "Ελλάδα → Ελλάδα; Κύπρος → Κύπρο"),
    ("el", "ACC", {"gender": NEUT, "number": SG}, "Βερολίνο → Βερολίνο"),
    ("el", "ACC", {"gender": NEUT, "number": PL}, "Ισπανικά → Ισπανικά"),
    ("el", "GEN", {"gender": FEM, "number": PL}, "Ηνωμένες Πολιτείες → –"),
    # Крым: not Крыме, after в
    ("ru", "ESS", {"kinds": PLACE},
     "Москва → Москве; Нью-Йорк → Нью-Йорке; Крым → Крыму; Великие Луки → Великих Луках; "
     "Соединённые Штаты Америки → Соединённых Штатах Америки; "
     "Шлезвиг-Гольштейн → Шлезвиг-Гольштейне; Баден-Баден → Баден-Бадене; "
     "Ростов-на-Дону → Ростове-на-Дону; США → США; Париж (Техас) → Париже (Техас); "
     "Лондон, Онтарио → Лондоне, Онтарио"),
    ("ru", "INS", {"kinds": PLACE}, "Москва → Москвой; Нижний Новгород → Нижним Новгородом"),
    # Афины: always plural
    ("ru", "GEN", {"kinds": PLACE},
     "Франция → Франции; Афины → Афин; Верхние Альпы → Верхних Альп; "
     "город Москва → города Москвы; Саксония-Анхальт → Саксонии-Анхальта; Токио → Токио; "
     "Фаэнца → Фаэнцы; Лечче → Лечче"),
    ("ru", "ESS", {},
     "Чемпионат Германии по футболу → Чемпионате Германии по футболу; фортепиано → фортепиано"),
    ("ru", "INS", {},
     "Нобелевская премия по физике → Нобелевской премией по физике; актёр → актёром"),
    # Прошовицкий повят: Прошовицкого повята
    ("ru", "GEN", {},
     "Большая советская энциклопедия → Большой советской энциклопедии; "
     "архиепископ Кентерберийский → архиепископа Кентерберийского; "
     "фильм-мистерия → фильма-мистерии; Прошовицкий повят → –; Microsoft → –; "
     "101-я дивизия → –; Чисто английское убийство → –"),
    ("ru", "ESS", {"kinds": LANGUAGE},
     "русский язык → русском языке; русский → русском; иврит → иврите"),
    ("ru", "ACC", {},
     "актёр → актёра; рояль → рояль; новый год → новый год; "
     "политический деятель → политического деятеля"),
    ("ru", "GEN", {"gender": MASC, "kinds": HUMAN},
     "Блез Паскаль → Блеза Паскаля; Альберт Эйнштейн → Альберта Эйнштейна; "
     "Лев Толстой → Льва Толстого; Людвиг ван Бетховен → Людвига ван Бетховена; "
     "Пётр I → Петра I; Толстой, Лев → Толстого, Льва"),
    ("ru", "DAT", {"gender": FEM, "kinds": HUMAN}, "Анна Шмидт → Анне Шмидт"),
    ("ru", "DAT", {"gender": MASC, "kinds": HUMAN}, "Карл Шмидт → Карлу Шмидту"),
    ("ru", "GEN", {"gender": FEM, "kinds": HUMAN},
     "Мария Кюри → Марии Кюри; Софья Ковалевская → Софьи Ковалевской"),
    ("ru", "ACC", {"kinds": PLACE}, "Лестершир → Лестершир"),
    # Шривпорт: not a woman's name
    ("ru", "ESS", {"gender": FEM, "kinds": PLACE}, "Шривпорт → Шривпорте"),
    ("ru", "IN+ESS", {"kinds": PLACE}, "Москва → –"),
    ("uk", "LOC", {"kinds": PLACE}, "Київ → Києві"),
    ("uk", "GEN", {"kinds": PLACE}, "Україна → України; Осло → Осло"),
    ("uk", "INS", {"kinds": LANGUAGE}, "українська мова → українською мовою"),
    ("uk", "GEN", {"gender": FEM, "kinds": HUMAN}, "Леся Українка → Лесі Українки"),
    ("uk", "ESS", {"kinds": PLACE}, "Сполучені Штати Америки → Сполучених Штатах Америки"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("language", "case", "traits", "pair"),
    [(*of, pair) for *of, pairs in FORMS for pair in pairs.split("; ")],
)
def test_forms_are_those_of_grammars_and_dictionaries(language, case, traits, pair):
    label, form = pair.split(" → ")
    assert (inflect(language, label, case, **traits) or "–") == form


def test_ukrainian_beside_russian():
    load_inflector("ru")  # pymorphy3 keeps what it knows of marks for both in one place
    assert inflect("uk", "Осло", "GEN", kinds=PLACE) == "Осло"
    assert inflect("ru", "Крым", "ESS", kinds=PLACE) == "Крыму"


def test_greek_name_behind_a_mans_first_name_inflects():
    assert inflect("el", "Γιώργος Σεφέρης", "GEN", MASC, HUMAN, SG) == "Γιώργου Σεφέρη"
    assert inflect("el", "Γιώργος Σεφέρης", "ACC", MASC, HUMAN, SG) == "Γιώργο Σεφέρη"


@pytest.mark.parametrize("language", ["en", "fr", "he", "ja"])
def test_languages_without_cases_answer_none(language):
    assert inflect(language, "Paris", "GEN") is None
    assert load_inflector(language).agree("Paris") is None


def test_every_inflection_keeps_the_nominative_and_refuses_a_foreign_case():
    for language in INFLECTIONS:
        assert inflect(language, "Ада", "NOM") == "Ада"
        assert inflect(language, "", "GEN") is None


def test_capitals_stay():
    assert keep_capitals("нью-йорка", "Нью-Йорк") == "Нью-Йорка"
    assert keep_capitals("ростова-на-дону", "Ростов-на-Дону") == "Ростова-на-Дону"
    assert keep_capitals("оона", "ООН") == "ООНА"


TABLE = "Όσλο\tΌσλο\tN;GEN;SG\nΠαρίσι\tΠαρισιού\tN;GEN;SG\nΠαρίσι\tΠαρίσια\tN;NOM;PL\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "ell").mkdir()
    (tmp_path / "ell" / "ell").write_text(TABLE, encoding="utf-8")
    (tmp_path / "rus").write_text(
        "Пермь\tПермью\tPROPN;INS;SG;FEM\nбыть\tбудет\tV;FUT;3;SG\n\nГаага\tГааге\tN;ESS;SG\n",
        encoding="utf-8",
    )
    return tmp_path


def test_unimorph_comes_first_and_knows_what_rules_do_not(folder):
    greek, russian = load_inflector("el", folder), load_inflector("ru", folder)
    assert greek.inflect(CasedLabel("Όσλο", "GEN", NEUT, SG)) == "Όσλο"
    assert greek.inflect(CasedLabel("Παρίσι (πόλη)", "GEN", NEUT, SG)) == "Παρισιού (πόλη)"
    assert greek.inflect(CasedLabel("Ελλάδα", "GEN", FEM, SG)) == "Ελλάδας"  # by rule
    assert greek.name == "UniMorph ell, then endings (el)"
    assert russian.inflect(CasedLabel("Пермь", "INS")) == "Пермью"
    assert russian.inflect(CasedLabel("Гаага", "ESS")) == "Гааге"
    assert russian.agree("Пермь") == Agreement(FEM)
    assert load_inflector("tr", folder).name == "vowel harmony (tr)"


def test_unimorph_form_has_the_number_and_the_gender(tmp_path):
    rows = ["Ρω\tΡων\tN;GEN;PL", "Ρω\tΡώς\tN;GEN;SG;FEM", "Ρω\tΡώ\tN;GEN;SG;MASC"]
    (tmp_path / "ell").write_text("\n".join(rows), encoding="utf-8")
    inflector = load_inflector("el", tmp_path)
    assert inflector.inflect(CasedLabel("Ρω", "GEN", MASC, SG)) == "Ρώ"
    assert inflector.inflect(CasedLabel("Ρω", "GEN", FEM)) == "Ρώς"
    assert inflector.inflect(CasedLabel("Ρω", "GEN", FEM, PL)) == "Ρων"


def test_unimorph_that_cannot_be_read_is_named(folder):
    with pytest.raises(PolyprobeError, match=r"no folder .*none with UniMorph's tables; expected"):
        load_inflector("el", folder / "none")
    (folder / "hun").write_text("ház\tházat\n", encoding="utf-8")
    with pytest.raises(PolyprobeError, match=r"hun line 1: expected lemma, form and features"):
        load_inflector("hu", folder)


# Inflected labels in Russian and Ukrainian; expected forms from grammars and dictionaries.


@pytest.mark.parametrize(
    ("label", "agreement"),
    [
        ("Москва", Agreement(FEM)),
        ("Париж", Agreement(MASC)),
        ("Министерство финансов", Agreement(NEUT)),
        ("Нижний Новгород", Agreement(MASC)),
        ("Верхние Альпы", Agreement(MASC, PL)),
        ("Лечче", Agreement(NEUT, SG, sure=False)),
        ("Microsoft", None),
    ],
)
def test_gender_of_the_head_in_russian(label, agreement):
    assert load_inflector("ru").agree(label) == agreement


def test_name_in_iya_has_two_vowels_in_the_dative_alone():
    forms = [decline_name("Цюбия", case, False, None) for case in ("GEN", "DAT", "INS", "ESS")]
    assert forms == ["Цюбии", "Цюбии", "Цюбией", "Цюбии"]


def test_absent_pymorphy_is_one_line_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymorphy3", None)
    inflection_slavic.load_analyser.cache_clear()
    with pytest.raises(
        PolyprobeError, match=r"inflecting ru needs .*polyprobe\[sentences\]"
    ) as got:
        load_inflector("ru")
    assert "\n" not in str(got.value)
