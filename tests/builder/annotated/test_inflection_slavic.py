"""Inflected labels in Russian and Ukrainian; expected forms from grammars and dictionaries."""

import sys

import pytest

from polyprobe.builder.annotated.entities import FEM, MASC, NEUT, PL, SG, Agreement
from polyprobe.builder.annotated.languages import load_inflector
from polyprobe.builder.annotated.languages import slavic as inflection_slavic
from polyprobe.builder.annotated.languages.slavic import decline_name
from polyprobe.system.errors import PolyprobeError
from tests.builder.annotated.inflecting import HUMAN, LANGUAGE, PLACE, inflect


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
