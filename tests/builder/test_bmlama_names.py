import csv

import pytest

from polyprobe.builder.sources.bmlama import linked as names
from polyprobe.builder.sources.bmlama.files import list_paths
from polyprobe.builder.sources.bmlama.linked import correct_name, turn


def test_names_are_unique_and_have_reasons():
    path = names.files(names.__package__).joinpath("names.csv")
    lines = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    assert len({(line["language"], line["id"]) for line in lines}) == len(lines) == 19
    for line in lines:
        assert line["language"] in list_paths("17")
        assert line["reason"].isascii()
        assert line["name"]


def test_a_name_is_for_one_entity_in_one_language():
    assert correct_name("Корк", "Q162475", "ru") == "графство Корк"
    assert correct_name("Корк", "Q36647", "ru") == "Корк"  # the city
    assert correct_name("Cork", "Q162475", "nl") == "Cork"


@pytest.mark.parametrize(
    ("label", "turned"),
    [
        ("Карузо, Энрико", "Энрико Карузо"),
        ("Штауффенберг, Клаус Шенк фон", "Клаус Шенк фон Штауффенберг"),
        ("Де Росси, Даниеле", "Даниеле Де Росси"),
        # no names with the surname first
        ("Бонэйр, Синт-Эстатиус и Саба", "Бонэйр, Синт-Эстатиус и Саба"),
        ("Уильям Томсон, 1-й барон Кельвин", "Уильям Томсон, 1-й барон Кельвин"),
        ("Виллем-Александр, принц Оранский", "Виллем-Александр, принц Оранский"),
        ("Хороший, плохой, злой", "Хороший, плохой, злой"),
    ],
)
def test_russian_surnames_come_last(label, turned):
    assert turn(label, "ru") == turned
    assert turn(label, "uk") == label
