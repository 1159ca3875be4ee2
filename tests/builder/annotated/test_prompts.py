import csv
import io
from collections import Counter

import polars as pl
import pytest

from polyprobe.builder.annotated.entities import (
    FEM,
    MASC,
    Traits,
    find_kinds,
    list_trait_paths,
    read_traits,
)
from polyprobe.builder.annotated.render import KEPT
from polyprobe.builder.facts import FACTS, LABELS, PROMPTS, Facts
from polyprobe.builder.recipes.balanced import material as prompts
from polyprobe.builder.recipes.balanced.material import (
    UNLABELLED,
    render_sentences,
)
from polyprobe.builder.sources import xfactr
from polyprobe.system.messages import PolyprobeError
from tests.builder.annotated.written import write_node
from tests.builder.tiny import describe, pack, place_archive

WRITTEN = {
    "pid": ["P1", "P2"],
    "relation": ["sings in", "name of"],
    "en": ["[X] sings in [Y] .", "[Y] is  the name of [X] ."],
    "fr": ["[ARTDEF;X] [X] chante [PREPLOC;Y] [Y] .", "Le nom [PREPDEF;X] [X] est [Y] ."],
    "ru": ["[X.Nom] [пел;X-Gender=MASC|пела;X-Gender=FEM] в [Y.Ess] .", "[X.Gen] имя — [Y.Nom]"],
}
FACT_ROWS = [("P1", "Q3", "Q1"), ("P1", "Q4", "Q2"), ("P2", "Q1", "Q2"), ("P9", "Q3", "Q1")]
LABEL_ROWS = {
    "en": {"Q1": "Peru", "Q2": "Lima", "Q3": "Ada", "Q4": "Bo"},
    "fr": {"Q1": "Pérou", "Q2": "Lima", "Q3": "Ada"},
    "ru": {"Q1": "Перу", "Q2": "Лима", "Q3": "Ада", "Q4": "Bo"},
}


@pytest.fixture
def mirror(monkeypatch, tmp_path):
    table = io.StringIO()
    csv.writer(table).writerows([WRITTEN, *zip(*WRITTEN.values(), strict=True)])
    contents = {path: b"" for kind in ("gender", "instanceof") for path in list_trait_paths(kind)}
    contents[xfactr.PROMPT_FILE] = table.getvalue().encode()
    contents["data/TREx_gender.txt"] = b"Q1\tnone\nQ2\tnone\nQ3\tfemale\nQ4\tmale\n"
    contents["data/TREx_instanceof.txt"] = (
        b"Q1\tQ6256,country\nQ2\tQ515,city\nQ3\tQ5,human\nQ4\tQ5,human\n"
    )
    return place_archive(monkeypatch, tmp_path, xfactr, contents, LANGUAGES=("en", "fr", "ru"))


@pytest.fixture
def facts():
    return pl.DataFrame(FACT_ROWS, schema=FACTS, orient="row")


@pytest.fixture
def labels():
    rows = [(code, *pair) for code, named in LABEL_ROWS.items() for pair in named.items()]
    return pl.DataFrame(rows, schema=LABELS, orient="row")


def test_each_fact_gets_a_sentence_where_both_ends_have_labels(mirror, facts, labels):
    found = render_sentences(Facts(facts, labels, {}), mirror, ["ru", "en", "fr"])
    table = found.prompts
    assert dict(table.schema) == PROMPTS
    assert table.rows() == [
        ("en", "P1", "Q3", "Q1", "Ada sings in [Y] .", "Peru"),
        ("en", "P1", "Q4", "Q2", "Bo sings in [Y] .", "Lima"),
        ("en", "P2", "Q1", "Q2", "[Y] is the name of Peru .", "Lima"),
        ("fr", "P1", "Q3", "Q1", "Ada chante au [Y] .", "Pérou"),
        ("fr", "P2", "Q1", "Q2", "Le nom du Pérou est [Y] .", "Lima"),
        ("ru", "P1", "Q3", "Q1", "Ада пела в [Y] .", "Перу"),
        ("ru", "P1", "Q4", "Q2", "Bo пел в [Y] .", "Лиме"),
        ("ru", "P2", "Q1", "Q2", "Перу имя — [Y]", "Лима"),
    ]
    assert +Counter(found.repairs) == {f"fr: {UNLABELLED}": 1}  # Q4; P9 has no prompt


def test_tables_of_unimorph_are_used(mirror, facts, labels, tmp_path):
    folder = tmp_path / "unimorph"
    folder.mkdir()
    (folder / "rus").write_text("Лима\tЛИМЕ\tPROPN;ESS;SG\n", encoding="utf-8")
    table = render_sentences(Facts(facts, labels, {}), mirror, ["ru"], folder).prompts
    assert table.filter(relation="P1", subject_id="Q4")["form"].item() == "ЛИМЕ"


def test_language_that_the_prompts_do_not_have_is_named(mirror, facts, labels):
    with pytest.raises(PolyprobeError, match=r"unknown language 'xx' in xfactr's prompts"):
        render_sentences(Facts(facts, labels, {}), mirror, ["en", "xx"])


@pytest.fixture(scope="module")
def known(upstream):
    return xfactr.read_facts(upstream, sorted(ANNOTATED))


# language: the most of 1,000 sentences with a label left as it was where a case was asked for;
# in Russian 9 of 10 of these are in Latin letters
ANNOTATED = {"el": 200, "es": 0, "fr": 0, "he": 0, "hu": 120, "mr": 1, "ru": 120, "tr": 5}


@pytest.mark.slow
@pytest.mark.acceptance
def test_sentences_of_the_release(upstream, known):
    found = render_sentences(known, upstream, sorted(ANNOTATED))
    table = found.prompts
    counts = dict(table.group_by("language").len().iter_rows())
    assert table.height == 148_888
    assert (table["prompt"].str.count_matches(r"\[Y\]", literal=False) == 1).all()
    assert not table["prompt"].str.contains(r"[\ue000-\ue002]|\[[A-Z]+;|\[X|Gender=|  ").any()
    assert table["form"].str.len_chars().min() > 0
    for language, most in ANNOTATED.items():
        assert found.repairs.get(f"{language}: {KEPT}", 0) <= counts[language] * most / 1_000, (
            language
        )


def test_mended_marks_are_in_the_release(upstream):
    languages = sorted({language for language, _ in prompts.FIXED_MARKS})
    trees = prompts.read_prompts(upstream, languages)
    for (language, relation), (found, right) in prompts.FIXED_MARKS.items():
        written = "".join(map(write_node, trees[language][relation]))
        assert right in written
        assert found not in written


KINDS = [
    (("human",), "human; fictional human"),
    (("city",), "human settlement; big city; city with millions of inhabitants; commune of France"),
    (("country",), "country; sovereign state; island nation"),
    ((),
     "English country house; unitary state; programming language; "
     "object-based language; functional programming language; archaic human; "
     "flag of a country subdivision; "),
    (("region",), "state of Germany"),
    (("Hungarian town", "city"), "town in Hungary"),
    (("language",), "modern language"),
    (("band",), "musical group"),
    (("record label",), "record label"),
    (("club",), "association football club"),
]  # fmt: skip


@pytest.mark.parametrize(("kinds", "names"), KINDS)
def test_the_last_word_of_a_class_gives_the_kind(kinds, names):
    for name in names.split("; "):
        assert {*find_kinds([name])} == {*kinds}, name


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
