import json
import re
import unicodedata
import zipfile
from collections import Counter, defaultdict
from importlib.resources import files
from pathlib import Path

import pytest
from babel.languages import get_official_languages

from polyprobe.builder.build import build_dataset
from polyprobe.builder.recipes import geofacts
from polyprobe.builder.recipes.geofacts import LANGUAGES
from polyprobe.system.files import read_table_rows
from tests.builder.geographic import CANDIDATES, CHI_SQUARED, ENDS, FACTS, SCRIPTS

ROOT = Path(__file__).parents[2]
TABLE = read_table_rows("polyprobe.builder.recipes.geofacts", "facts.csv")

# In the others only the full stop follows [Y].
VERB_LAST = {"fa", "hi", "ja", "ko", "ur"}


@pytest.fixture(scope="module")
def built():
    return geofacts.build("default")


@pytest.fixture(scope="module")
def texts(built):
    """Every text that a reader sees, with its language."""
    return [
        (language, text)
        for language, rows in built.items()
        for row in rows
        for text in (row.subject, row.prompt, *row.candidates, *row.answer_forms)
    ]


def test_counts(built):
    assert Counter(row.relation for row in built["en"]) == FACTS
    for relation, number in CANDIDATES.items():
        found = {len(row.candidates) for row in built["en"] if row.relation == relation}
        assert found == {number}


def test_rows_are_parallel_and_sound_in_every_language(built):
    for rows in built.values():
        for row, english in zip(rows, built["en"], strict=True):
            assert row[:4] == english[:4]
            assert (row.candidate_ids, row.answers) == (english.candidate_ids, english.answers)
            size = len(row.candidates)
            assert len({label.casefold() for label in row.candidates}) == size
            assert len(set(row.candidate_ids)) == len(row.candidate_ids) == size
            (answer,) = row.answers
            assert row.candidate_ids[answer] == row.object_id
            assert [row.candidates[answer]] == row.answer_forms
            assert row.fact_id == f"{row.relation}:{row.subject_id}:{row.object_id}"
            assert row.prompt.count("[Y]") == 1
            assert "[X]" not in row.prompt
            assert row.subject in row.prompt


def test_subjects_differ_in_every_language(built):
    for rows in built.values():
        named = {row.subject_id: row.subject.casefold() for row in rows}
        assert len(set(named.values())) == len(named)


def test_texts_are_clean(texts):
    for language, text in texts:
        assert unicodedata.normalize("NFC", text) == text == text.strip(), (language, text)
        rest = text.replace("[Y]", "Y")
        assert not re.search(r"[][()（）&\u00ad\u00a0\u200b\u200e\u200f]|\s\s", rest), text


@pytest.mark.parametrize("language", SCRIPTS)
def test_labels_are_in_their_script(built, language):
    for row in built[language]:
        for label in (row.subject, *row.candidates):
            names = [unicodedata.name(letter) for letter in label if letter.isalpha()]
            assert any(name.startswith(SCRIPTS[language]) for name in names), label


def test_templates_are_complete():
    templates = geofacts.PATTERNS
    assert tuple(templates) == LANGUAGES
    for language, sentences in templates.items():
        assert tuple(sentences) == (*FACTS, "P17", "P282", "P361", "P421", "P2341")
        assert len(set(sentences.values())) == len(sentences)
        for sentence in map(sentences.get, FACTS):
            assert (sentence.count("[X]"), sentence.count("[Y]")) == (1, 1)
            end = ENDS.get(language, ".")
            assert sentence.endswith(end)
            last = sentence.removesuffix(end).endswith("[Y]") or end == "[Y]"
            assert last == (language not in VERB_LAST), sentence


@pytest.mark.parametrize("relation", FACTS)
def test_answers_are_in_any_place(built, relation):
    places = Counter(row.answers[0] for row in built["en"] if row.relation == relation)
    expected = FACTS[relation] / CANDIDATES[relation]
    deviation = sum((places[i] - expected) ** 2 / expected for i in range(CANDIDATES[relation]))
    assert deviation < CHI_SQUARED[relation]


def test_distractors_are_drawn_uniformly(built):
    """A capital is a distractor in 110 rows * 9/109 = 9.1 on average, Poisson distributed."""
    drawn = Counter(
        entity
        for row in built["en"]
        if row.relation == "P36"
        for entity in row.candidate_ids
        if entity != row.object_id
    )
    mean = FACTS["P36"] * 9 / FACTS["P36"]
    variance = sum(
        (drawn[row.object_id] - mean) ** 2 for row in built["en"] if row.relation == "P36"
    )
    assert sum(drawn.values()) == 110 * 9
    assert 0.5 * mean < variance / FACTS["P36"] < 1.7 * mean


def test_no_distractor_is_right_as_well(built):
    for row in built["en"]:
        wrong = set(row.candidate_ids) - {row.object_id}
        if row.relation == "P37":
            spoken = get_official_languages(row.subject_id, regional=True, de_facto=True)
            assert not wrong & {language.split("_")[0] for language in spoken}
        if row.relation == "P38":
            assert not wrong & geofacts.currencies(row.subject_id)


def test_official_languages_are_those_of_babel(built):
    for row in built["en"]:
        if row.relation == "P37":
            known = get_official_languages(row.subject_id, regional=False, de_facto=True)
            assert {language.split("_")[0] for language in known} == {row.object_id}


@pytest.mark.parametrize(
    ("fact_id", "why"),
    [
        ("P37:ZA:en", "twelve official languages, CLDR has one"),
        ("P37:VA:it", "Latin too"),
        ("P38:JP:JPY", "Japan, Japanese Yen"),
        ("P38:CF:XAF", "Central African Republic, Central African CFA Franc"),
        ("P36:SG:Asia/Singapore", "city state"),
        ("P36:TN:Africa/Tunis", "Tunisia, Tunis"),
        ("P36:BO:America/La_Paz", "the constitution says Sucre"),
        ("P36:CI:Africa/Abidjan", "the capital is Yamoussoukro"),
        ("P30:ZA:002", "South Africa, Africa"),
        ("P30:RU:150", "two continents"),
    ],
)
def test_what_is_not_a_fact(built, fact_id, why):
    assert fact_id not in {row.fact_id for row in built["en"]}, why


@pytest.mark.parametrize(
    ("fact_id", "language", "answer"),
    [
        ("P36:UA:Europe/Kyiv", "ru", "Киев"),  # babel has it under Europe/Kiev
        ("P36:NP:Asia/Kathmandu", "de", "Kathmandu"),
        ("P36:AR:America/Argentina/Buenos_Aires", "el", "Μπουένος Άιρες"),
        ("P36:ER:Africa/Asmara", "hy", "Ասմերա"),
        ("P36:IS:Atlantic/Reykjavik", "de", "Reykjavík"),  # a soft hyphen in CLDR
        ("P36:KH:Asia/Phnom_Penh", "fr", "Phnom Penh"),  # inherited
        ("P38:SN:XOF", "bn", "পশ্চিম আফ্রিকান CFA ফ্র্যাঙ্ক"),  # [CFA] in CLDR
        ("P30:MX:003", "ja", "北アメリカ"),
    ],
)
def test_labels_where_cldr_is_tricky(built, fact_id, language, answer):
    (row,) = [row for row in built[language] if row.fact_id == fact_id]
    assert row.answer_forms == [answer]


@pytest.mark.parametrize("relation", ["P30", "P36", "P38"])
def test_no_country_gives_its_answer_away(built, relation):
    """Search for four equal characters by slicing, in languages written with spaces."""
    for language in set(LANGUAGES) - {"ar", "fa", "he", "ja", "ko", "ur", "zh"}:
        for row in built[language]:
            if row.relation == relation:
                for word in re.sub(r"[-’.,'ʼ–—]", " ", row.subject.casefold()).split():
                    assert len(word) < 4 or word[:4] not in row.answer_forms[0].casefold()


def test_fact_table_says_why_something_is_missing():
    keys = [(row["country"], row["relation"]) for row in TABLE]
    assert keys == sorted(set(keys))
    for row in TABLE:
        assert row["object"] or row["left_out"]
    for relation in ("P30", "P36"):
        assert len([key for key in keys if key[1] == relation]) == 193 + len(
            ["VA", "PS", "TW", "XK"]
        )


def test_continents_have_the_countries_of_the_united_nations():
    """M49 has 54 African, 35 American, 47 Asian, 43 European, 14 Oceanian members (and VA)."""
    table = [row for row in TABLE if row["relation"] == "P30"]
    members = Counter(row["object"] for row in table if row["object"] and row["country"] != "VA")
    assert members == {"002": 54, "003": 23, "005": 12, "142": 47, "150": 43, "009": 14}
    assert sum(members.values()) == 193


def test_licence_of_the_labels_goes_along():
    text = (ROOT / "datasets" / "geofacts" / "LICENSE-UNICODE.txt").read_text(encoding="utf-8")
    assert text.startswith("UNICODE LICENSE V3")
    assert text == files("babel").joinpath("locale-data/LICENSE.unicode").read_text("utf-8")


# Wikidata's labels as mParaRel has them, where they differ from CLDR's or count otherwise.
EXCEPTIONS = {
    ("P36", "Belgium", "Brussels"): "the city proper: City of Brussels",
    ("P37", "Bangladesh", "Bangla"): "the other English name: Bengali",
    ("P37", "Malaysia", "Malay"): "has English only, official beside Malay until 1967",
    ("P37", "Slovenia", "Slovenian"): "the other English name: Slovene",
    (
        "P37",
        "Turkmenistan",
        "Turkmen",
    ): "has Russian only, which the constitution does not name",
    **{
        ("P30", country, "Oceania"): "says Insular Oceania"
        for country in ("Australia", "Fiji", "Kiribati", "Marshall Islands", "Palau", "Vanuatu")
    },
}


def test_facts_agree_with_wikidata(built, upstream):
    (path,) = upstream.glob("coastalcph__mpararel@*.zip")
    known = defaultdict(set)
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            found = re.search(r"mpararel_reviewed/tuples/en/(P30|P36|P37)\.jsonl$", name)
            for line in archive.read(name).decode().splitlines() if found else ():
                row = json.loads(line)
                known[found[1], row["sub_label"]].add(row["obj_label"])
    checked, differing = Counter(), set()
    for row in built["en"]:
        objects = known.get((row.relation, row.subject), set())
        if objects:
            checked[row.relation] += 1
        if objects and row.answer_forms[0] not in objects:
            differing.add((row.relation, row.subject, row.answer_forms[0]))
    assert differing == set(EXCEPTIONS)
    assert checked == {"P30": 63, "P36": 46, "P37": 82}


COMMITTED = Path(__file__).parents[2] / "datasets" / "geofacts"


def contents(folder: Path) -> dict[str, bytes]:
    paths = [folder / "README.md", *folder.glob("data/**/*.parquet")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_build_remakes_the_default_bit_for_bit(tmp_path):
    """Valid for the versions of babel and pyarrow in constraints.txt."""
    rebuilt = contents(build_dataset("geofacts", ["default"], output=tmp_path / "geofacts"))
    del rebuilt["README.md"]  # it lists one configuration
    committed = contents(COMMITTED)
    assert len(rebuilt) == 51
    assert [path for path in rebuilt if rebuilt[path] != committed[path]] == []


@pytest.mark.acceptance
def test_build_remakes_the_committed_files_bit_for_bit(tmp_path):
    rebuilt = contents(build_dataset("geofacts", output=tmp_path / "geofacts"))
    committed = contents(COMMITTED)
    assert len(committed) == 1 + 2 * 51
    assert sorted(rebuilt) == sorted(committed)
    assert [path for path in committed if rebuilt[path] != committed[path]] == []
