import pytest

from polyprobe.builder.annotated.entities import (
    FEM,
    MASC,
    Traits,
    find_kinds,
    list_trait_paths,
    read_traits,
)
from polyprobe.builder.sources import xfactr
from tests.builder.tiny import describe, pack


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("human", {"human"}),
        ("fictional human", {"human"}),
        ("human settlement", {"city"}),
        ("country", {"country"}),
        ("sovereign state", {"country"}),
        ("English country house", set()),
        ("unitary state", set()),
        ("state of Germany", {"region"}),
        ("island nation", {"country"}),
        ("big city", {"city"}),
        ("city with millions of inhabitants", {"city"}),
        ("town in Hungary", {"city", "Hungarian town"}),
        ("commune of France", {"city"}),
        ("modern language", {"language"}),
        ("programming language", set()),
        ("object-based language", set()),
        ("functional programming language", set()),
        ("archaic human", set()),
        ("musical group", {"band"}),
        ("record label", {"record label"}),
        ("association football club", {"club"}),
        ("flag of a country subdivision", set()),
        ("", set()),
    ],
)
def test_the_last_word_of_a_class_gives_the_kind(name, kinds):
    assert set(find_kinds([name])) == kinds


def test_traits_come_from_all_samples(tmp_path):
    contents = {path: b"" for kind in ("gender", "instanceof") for path in list_trait_paths(kind)}
    contents["data/TREx_gender.txt"] = b"Q1\tmale\nQ2\tnone\n"
    contents["data/mTRExf_gender.txt"] = b"Q1\tmale\nQ3\tfemale\n"
    contents["data/mTREx_instanceof.txt"] = (
        b"Q1\tQ5,human\nQ2\tQ515,city\tQ6,sovereign state\nQ4\t\n"
    )
    repository = describe(contents)
    pack(tmp_path, repository, contents)
    assert read_traits(repository, tmp_path) == {
        "Q1": Traits(MASC, frozenset({"human"})),
        "Q2": Traits("", frozenset({"city", "country"})),
        "Q3": Traits(FEM),
        "Q4": Traits(),
    }


def test_traits_of_the_release(upstream):
    traits = read_traits(xfactr.REPOSITORY, upstream)
    assert len(traits) == 131_855
    assert traits["Q7251"].sex == MASC  # Alan Turing
    assert traits["Q7186"] == Traits(FEM, frozenset({"human"}))  # Marie Curie
    assert "country" in traits["Q142"].kinds  # France
    assert "continent" in traits["Q46"].kinds  # Europe
    assert {"city", "Hungarian town"} <= traits["Q1781"].kinds  # Budapest
    assert traits["Q1860"].kinds == {"language"}  # English
    people = [each for each in traits.values() if "human" in each.kinds]
    assert sum(bool(each.sex) for each in people) / len(people) > 0.99
