"""Inflected labels; the expected forms are from grammars and dictionaries."""

import sys

import pytest

from polyprobe.builder.annotated.entities import FEM, MASC, NEUT, PL, SG, Agreement
from polyprobe.builder.annotated.inflection import CasedLabel, keep_capitals
from polyprobe.builder.annotated.languages import INFLECTIONS, load_inflector
from polyprobe.builder.annotated.languages import slavic as inflection_slavic
from polyprobe.builder.annotated.languages.slavic import decline_name
from polyprobe.system.errors import PolyprobeError
from tests.builder.annotated.inflecting import HUMAN, LANGUAGE, PLACE, inflect


@pytest.mark.parametrize(
    ("label", "case", "kinds", "form"),
    [
        ("İstanbul", "LOC", PLACE, "İstanbul'da"),
        ("Ankara", "GEN", PLACE, "Ankara'nın"),
        ("İzmir", "DAT", PLACE, "İzmir'e"),
        ("Sinop", "LOC", PLACE, "Sinop'ta"),
        ("Paris", "ABL", PLACE, "Paris'ten"),
        ("Türkiye", "DAT", PLACE, "Türkiye'ye"),
        ("Ürgüp", "ACC", PLACE, "Ürgüp'ü"),
        ("Ankara Üniversitesi", "LOC", (), "Ankara Üniversitesi'nde"),
        ("Avrupa Birliği", "GEN", (), "Avrupa Birliği'nin"),
        ("ABD", "LOC", PLACE, "ABD'de"),
        ("NATO", "GEN", (), "NATO'nun"),
        ("Türkçe", "COP", LANGUAGE, "Türkçedir"),
        ("Ankara", "COP", PLACE, "Ankara'dır"),
        ("filozof", "COP", (), "filozoftur"),
        ("doktor", "COP", (), "doktordur"),
        ("kitap", "GEN", (), "kitabın"),
        ("köpek", "ACC", (), "köpeği"),
        ("renk", "ACC", (), "rengi"),
        ("top", "GEN", (), "topun"),
        ("gitar", "ABL", (), "gitardan"),
        ("Paris (film)", "LOC", (), "Paris'te (film)"),
        ("Netflix", "LOC", ("company",), "Netflix'te"),
        ("saat", "LOC", (), "saatte"),
        ("Senegal", "GEN", PLACE, "Senegal'in"),
        ("Val d'Aran", "GEN", (), "Val d'Aran'ın"),
        ("domates sosu", "ABL", (), "domates sosundan"),
        ("Bergamo ili", "LOC", (), "Bergamo ilinde"),
        ("Super Bowl XLVIII", "ACC", (), None),
        ("Apollo 13", "LOC", (), None),
        ("İstanbul", "ESS", PLACE, None),
    ],
)
def test_turkish(label, case, kinds, form):
    assert inflect("tr", label, case, kinds=kinds) == form


@pytest.mark.parametrize(
    ("label", "case", "kinds", "form"),
    [
        ("London", "IN+ESS", PLACE, "Londonban"),
        ("Berlin", "IN+ESS", PLACE, "Berlinben"),
        ("Párizs", "IN+ESS", PLACE, "Párizsban"),
        ("Barcelona", "IN+ESS", PLACE, "Barcelonában"),
        ("Budapest", "IN+ESS", ("city", "Hungarian town"), "Budapesten"),
        ("Szolnok", "IN+ESS", ("city", "Hungarian town"), "Szolnokon"),
        ("Debrecen", "IN+ESS", ("city", "Hungarian town"), "Debrecenben"),
        ("Győr", "IN+ESS", ("city", "Hungarian town"), "Győrben"),
        ("Kolozsvár", "IN+ESS", PLACE, "Kolozsváron"),
        ("Baszkföld", "IN+ESS", ("region",), "Baszkföldön"),
        ("Capri", "IN+ESS", ("island",), "Caprin"),
        ("Capri", "IN+ESS", ("city",), "Capriban"),
        ("Kuba", "IN+ESS", ("island", "country"), "Kubában"),
        ("Magyarország", "IN+ESS", ("country",), "Magyarországon"),
        ("Németország", "IN+ESS", ("country",), "Németországban"),
        ("hegedű", "ON+ESS", (), "hegedűn"),
        ("zongora", "ON+ESS", (), "zongorán"),
        ("gitár", "ON+ESS", (), "gitáron"),
        ("Ausztria", "INST", ("country",), "Ausztriával"),
        ("Németország", "INST", ("country",), "Németországgal"),
        ("Bécs", "INST", PLACE, "Béccsel"),
        ("Párizs", "INST", PLACE, "Párizzsal"),
        ("nap", "IN+ABL", (), "napból"),
        ("algoritmus", "DAT", (), "algoritmusnak"),
        ("Berlin", "ACC", PLACE, "Berlint"),
        ("Budapest", "ACC", PLACE, "Budapestet"),
        ("Nobel-díj", "ACC", (), "Nobel-díjat"),
        ("Római Díj", "ACC", (), "Római Díjat"),
        ("Oscar-díj a legjobb filmnek", "ACC", (), "Oscar-díjat a legjobb filmnek"),
        ("Fields-érem", "ACC", (), "Fields-érmet"),
        ("Franciaország", "ACC", PLACE, "Franciaországot"),
        ("bajnokság", "ACC", (), "bajnokságot"),
        ("futball", "ACC", (), "futballt"),
        ("akciófilm", "DAT", (), "akciófilmnek"),
        ("csillagkép", "ACC", (), "csillagképet"),
        # the sound does not follow from foreign spelling
        ("Greenwich", "IN+ESS", PLACE, None),
        ("Seattle", "IN+ESS", PLACE, None),
        ("Chile", "INST", PLACE, None),
        ("BBC", "DAT", (), None),
        ("Apollo 13", "DAT", (), None),
    ],
)
def test_hungarian(label, case, kinds, form):
    assert inflect("hu", label, case, kinds=kinds) == form


@pytest.mark.parametrize(
    ("language", "label", "case", "form"),
    [
        ("bn", "ঢাকা", "GEN", "ঢাকার"),
        ("bn", "ঢাকা", "LOC", "ঢাকায়"),
        ("bn", "লন্ডন", "GEN", "লন্ডনের"),
        ("bn", "লন্ডন", "LOC", "লন্ডনে"),
        ("bn", "দিল্লি", "LOC", "দিল্লিতে"),
        ("bn", "টোকিও", "GEN", "টোকিওর"),
        ("bn", "মুম্বই", "GEN", "মুম্বইয়ের"),
        ("bn", "বেইজিং", "GEN", "বেইজিংয়ের"),
        ("bn", "জি২০", "GEN", None),
        ("bn", "BBC", "LOC", None),
        ("mr", "दिल्ली", "LOC", "दिल्लीत"),
        ("mr", "भारत", "LOC", "भारतात"),
        ("mr", "कोल्हापूर", "LOC", "कोल्हापुरात"),
        ("mr", "पुणे", "LOC", None),  # पुण्यात: another stem
        ("mr", "BBC", "LOC", None),
    ],
)
def test_bengali_and_marathi(language, label, case, form):
    assert inflect(language, label, case) == form


@pytest.mark.parametrize(
    ("label", "case", "gender", "number", "form"),
    [
        ("Δήμος Κοπεγχάγης", "ACC", MASC, SG, "Δήμο Κοπεγχάγης"),
        ("δάσος", "GEN", NEUT, SG, "δάσους"),
        ("Χώρα ΝΑΤΟ", "GEN", FEM, SG, "Χώρας ΝΑΤΟ"),
        ("Πλάτων", "GEN", MASC, SG, None),  # Πλάτωνα
        ("Μαρία Κιουρί", "GEN", FEM, SG, "Μαρίας Κιουρί"),
        ("Λα Ριόχα", "GEN", FEM, SG, None),
        ("Ελλάδα", "GEN", FEM, SG, "Ελλάδας"),
        ("Ελλάδα", "ACC", FEM, SG, "Ελλάδα"),
        ("Νέα Υόρκη", "GEN", FEM, SG, "Νέας Υόρκης"),
        ("Κύπρος", "GEN", FEM, SG, "Κύπρου"),
        ("Κύπρος", "ACC", FEM, SG, "Κύπρο"),
        ("Κάτω Ενότητα Καβάλας", "GEN", FEM, SG, None),
        ("Ενότητα Καβάλας", "GEN", FEM, SG, "Ενότητας Καβάλας"),
        ("Λαϊκή Δημοκρατία της Κίνας", "GEN", FEM, SG, "Λαϊκής Δημοκρατίας της Κίνας"),
        ("Καναδάς", "ACC", MASC, SG, "Καναδά"),
        ("ουρανός", "GEN", MASC, SG, "ουρανού"),
        ("Αλβέρτος Αϊνστάιν", "GEN", MASC, SG, "Αλβέρτου Αϊνστάιν"),
        ("Παρίσι", "GEN", NEUT, SG, "Παρισιού"),
        ("Βερολίνο", "ACC", NEUT, SG, "Βερολίνο"),
        ("Ισπανικά", "ACC", NEUT, PL, "Ισπανικά"),
        # the accent may move, or the name may not inflect
        ("άνθρωπος", "GEN", MASC, SG, None),
        ("Όσλο", "GEN", NEUT, SG, None),
        ("Ηνωμένες Πολιτείες", "GEN", FEM, PL, None),
        ("Microsoft", "GEN", FEM, SG, None),
    ],
)
def test_greek(label, case, gender, number, form):
    assert inflect("el", label, case, gender, number=number) == form


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
    ("label", "case", "gender", "kinds", "form"),
    [
        ("Москва", "ESS", None, PLACE, "Москве"),
        ("Москва", "INS", None, PLACE, "Москвой"),
        ("Франция", "GEN", None, PLACE, "Франции"),
        ("Нью-Йорк", "ESS", None, PLACE, "Нью-Йорке"),
        ("Крым", "ESS", None, PLACE, "Крыму"),  # not Крыме, after в
        ("Афины", "GEN", None, PLACE, "Афин"),  # always plural
        ("Нижний Новгород", "INS", None, PLACE, "Нижним Новгородом"),
        ("Великие Луки", "ESS", None, PLACE, "Великих Луках"),
        ("Верхние Альпы", "GEN", None, PLACE, "Верхних Альп"),
        ("Соединённые Штаты Америки", "ESS", None, PLACE, "Соединённых Штатах Америки"),
        ("город Москва", "GEN", None, PLACE, "города Москвы"),
        ("Чемпионат Германии по футболу", "ESS", None, (), "Чемпионате Германии по футболу"),
        ("Нобелевская премия по физике", "INS", None, (), "Нобелевской премией по физике"),
        ("Большая советская энциклопедия", "GEN", None, (), "Большой советской энциклопедии"),
        ("русский язык", "ESS", None, LANGUAGE, "русском языке"),
        ("русский", "ESS", None, LANGUAGE, "русском"),
        ("иврит", "ESS", None, LANGUAGE, "иврите"),
        ("актёр", "INS", None, (), "актёром"),
        ("актёр", "ACC", None, (), "актёра"),
        ("рояль", "ACC", None, (), "рояль"),
        ("новый год", "ACC", None, (), "новый год"),
        ("политический деятель", "ACC", None, (), "политического деятеля"),
        ("архиепископ Кентерберийский", "GEN", None, (), "архиепископа Кентерберийского"),
        ("Шлезвиг-Гольштейн", "ESS", None, PLACE, "Шлезвиг-Гольштейне"),
        ("Баден-Баден", "ESS", None, PLACE, "Баден-Бадене"),
        ("Саксония-Анхальт", "GEN", None, PLACE, "Саксонии-Анхальта"),
        ("фильм-мистерия", "GEN", None, (), "фильма-мистерии"),
        ("Ростов-на-Дону", "ESS", None, PLACE, "Ростове-на-Дону"),
        ("Блез Паскаль", "GEN", MASC, HUMAN, "Блеза Паскаля"),
        # that do not inflect
        ("Токио", "GEN", None, PLACE, "Токио"),
        ("США", "ESS", None, PLACE, "США"),
        ("фортепиано", "ESS", None, (), "фортепиано"),
        # people: all parts, surnames by sex
        ("Альберт Эйнштейн", "GEN", MASC, HUMAN, "Альберта Эйнштейна"),
        ("Лев Толстой", "GEN", MASC, HUMAN, "Льва Толстого"),
        ("Анна Шмидт", "DAT", FEM, HUMAN, "Анне Шмидт"),
        ("Карл Шмидт", "DAT", MASC, HUMAN, "Карлу Шмидту"),
        ("Мария Кюри", "GEN", FEM, HUMAN, "Марии Кюри"),
        ("Софья Ковалевская", "GEN", FEM, HUMAN, "Софьи Ковалевской"),
        ("Людвиг ван Бетховен", "GEN", MASC, HUMAN, "Людвига ван Бетховена"),
        ("Пётр I", "GEN", MASC, HUMAN, "Петра I"),
        ("Толстой, Лев", "GEN", MASC, HUMAN, "Толстого, Льва"),
        # the rest is unchanged
        ("Париж (Техас)", "ESS", None, PLACE, "Париже (Техас)"),
        ("Лондон, Онтарио", "ESS", None, PLACE, "Лондоне, Онтарио"),
        # names that the dictionary does not have
        ("Фаэнца", "GEN", None, PLACE, "Фаэнцы"),
        ("Лечче", "GEN", None, PLACE, "Лечче"),
        ("Лестершир", "ACC", None, PLACE, "Лестершир"),
        ("Шривпорт", "ESS", FEM, PLACE, "Шривпорте"),  # not a woman's name
        # undecidable
        ("Прошовицкий повят", "GEN", None, (), None),  # Прошовицкого повята
        ("Microsoft", "GEN", None, (), None),
        ("101-я дивизия", "GEN", None, (), None),
        ("Чисто английское убийство", "GEN", None, (), None),
        ("Москва", "IN+ESS", None, PLACE, None),
    ],
)
def test_russian(label, case, gender, kinds, form):
    assert inflect("ru", label, case, gender, kinds) == form


@pytest.mark.parametrize(
    ("label", "case", "gender", "kinds", "form"),
    [
        ("Київ", "LOC", None, PLACE, "Києві"),
        ("Україна", "GEN", None, PLACE, "України"),
        ("українська мова", "INS", None, LANGUAGE, "українською мовою"),
        ("Леся Українка", "GEN", FEM, HUMAN, "Лесі Українки"),
        ("Сполучені Штати Америки", "ESS", None, PLACE, "Сполучених Штатах Америки"),
        ("Осло", "GEN", None, PLACE, "Осло"),
    ],
)
def test_ukrainian_beside_russian(label, case, gender, kinds, form):
    load_inflector("ru")  # pymorphy3 keeps what it knows of marks for both in one place
    assert inflect("uk", label, case, gender, kinds) == form
    assert inflect("ru", "Крым", "ESS", None, PLACE) == "Крыму"


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
