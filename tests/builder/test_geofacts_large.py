"""The configuration `large` of geofacts against the tz database, langcodes and plain loops."""

import hashlib
import re
import unicodedata
from collections import Counter, defaultdict
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from babel import Locale, UnknownLocaleError
from langcodes import Language

from polyprobe.builder.audit import audit_tables, to_json
from polyprobe.builder.audit.checks import CHECKS
from polyprobe.builder.recipes import geofacts
from polyprobe.builder.recipes.geofacts import LANGUAGES
from polyprobe.eval.donors import deal_donors
from polyprobe.schema.load import load_facts
from polyprobe.system.files import read_table_rows
from tests.builder.geographic import CHI_SQUARED, ENDS, FACTS, SCRIPTS

FOLDER = Path(__file__).parents[2] / "datasets" / "geofacts"
TABLE = read_table_rows("polyprobe.builder.recipes.geofacts", "large.csv")
ADDED = {"P17": 210, "P282": 49, "P361": 157, "P421": 85, "P2341": 99}
PLACES = {**CHI_SQUARED, **dict.fromkeys(ADDED, CHI_SQUARED["P36"])}


@pytest.fixture(scope="module")
def tables():
    return load_facts(str(FOLDER), "large")


@pytest.fixture(scope="module")
def rows(tables):
    return {language: table.to_pylist() for language, table in tables.items()}


@pytest.fixture(scope="module")
def audit(tables):
    return to_json(audit_tables(tables, "geofacts/large"))


def test_counts(rows):
    assert tuple(sorted(rows)) == tuple(sorted(LANGUAGES))
    assert Counter(row["relation"] for row in rows["en"]) == FACTS | ADDED
    sizes = defaultdict(set)
    for row in rows["en"]:
        sizes[row["relation"]].add(len(row["candidates"]))
    expected = {key: {10} for key in FACTS | ADDED} | {"P30": {6}, "P38": {7}}
    assert sizes == expected


def test_it_has_the_facts_of_the_default_in_the_same_words(rows):
    for language, table in load_facts(str(FOLDER)).items():
        large = {row["fact_id"]: row for row in rows[language]}
        for row in table.to_pylist():
            same = large[row["fact_id"]]
            names = ("subject", "prompt", "answer_forms", "template_id")
            assert [same[name] for name in names] == [row[name] for name in names]


def test_the_default_is_what_geolm_was_trained_on():
    """Other bytes need another geolm: `python -m bench geolm`."""
    digest = hashlib.sha256()
    for path in sorted((FOLDER / "data" / "default").glob("*.parquet")):
        digest.update(path.read_bytes())
    assert digest.hexdigest()[:16] == "0ab062cdc359f8b1"


def test_both_configurations_are_small():
    assert sum(path.stat().st_size for path in FOLDER.glob("data/*/*.parquet")) <= 3_000_000


def test_rows_are_parallel_and_sound(rows):
    for split in rows.values():
        for row, english in zip(split, rows["en"], strict=True):
            for name in ("fact_id", "relation", "subject_id", "object_id", "candidate_ids"):
                assert row[name] == english[name]
            assert row["fact_id"] == ":".join(
                (row["relation"], row["subject_id"], row["object_id"])
            )
            (answer,) = row["answers"]
            assert [answer] == english["answers"]
            assert row["candidate_ids"][answer] == row["object_id"]
            assert [row["candidates"][answer]] == row["answer_forms"]
            assert row["subject"] in row["prompt"]
        subjects = {(row["relation"], row["subject"].casefold()) for row in split}
        assert len(subjects) == len(split)


def test_the_audit_finds_nothing(audit):
    for language, counts in audit["languages"].items():
        assert {code: counts[code] for code in CHECKS} == dict.fromkeys(CHECKS, 0), language
        assert counts["rows_not_parallel_to_en"] == 0


def test_floors_are_low_and_those_of_the_card(audit, rows):
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    baseline = audit["accuracy_without_a_model"]["overall"]
    default = to_json(audit_tables(load_facts(str(FOLDER)), "geofacts/default"))
    before = default["accuracy_without_a_model"]["overall"]
    assert baseline["frequency"] < 0.25
    assert f"| {baseline['chance']:.3f} | {baseline['frequency']:.3f} |" in card
    names = f"{before['letters']:.3f} in `default` and {baseline['letters']:.3f} in `large`"
    assert names in card
    # A model that has learnt the frequencies, in a loop; equal ones are in random order.
    uses = Counter((row["relation"], row["object_id"]) for row in rows["en"])
    right = 0.0
    for row in rows["en"]:
        counts = [uses[row["relation"], name] for name in row["candidate_ids"]]
        is_top = counts[row["answers"][0]] == max(counts)
        right += is_top / counts.count(max(counts))
    assert right / len(rows["en"]) < 0.25
    assert f"is 0.318 and {right / len(rows['en']):.3f}." in card


def test_every_row_has_a_donor(tables):
    """A donor is a subject of the relation with another answer."""
    donors = deal_donors(tables["en"])
    objects, relations = (tables["en"][x].to_pylist() for x in ("object_id", "relation"))
    for row, donor in enumerate(donors.rows):
        assert donor is not None
        assert relations[row] == relations[donor]
        assert objects[row] != objects[donor]


@pytest.mark.parametrize("relation", ADDED)
def test_candidates_do_not_tell_the_answer(rows, relation):
    """Each set of candidates belongs to a ten of objects, and the answer is in any place of it."""
    facts = [row for row in rows["en"] if row["relation"] == relation]
    uses = Counter(row["object_id"] for row in facts)
    assert max(uses.values()) <= 12
    tens = {frozenset(row["candidate_ids"]) for row in facts}
    assert len(tens) == -(-len(uses) // 10)
    places = Counter(row["answers"][0] for row in facts)
    expected = len(facts) / 10
    deviation = sum((places[k] - expected) ** 2 / expected for k in range(10))
    assert deviation < PLACES[relation]


def test_texts_are_clean_and_in_their_script(rows):
    for language, split in rows.items():
        for row in split:
            for text in (row["subject"], row["prompt"], *row["candidates"]):
                assert unicodedata.normalize("NFC", text) == text == text.strip()
                rest = text.replace("[Y]", "Y")
                assert not re.search(r"[][()（）&\u00ad\u00a0\u200b\u200e\u200f]|\s\s", rest), text
            for text in (row["subject"], *row["candidates"]):
                letters = [unicodedata.name(letter) for letter in text if letter.isalpha()]
                scripts = SCRIPTS.get(language, ("LATIN",))
                assert any(name.startswith(scripts) for name in letters), text


def test_templates_end_with_the_object_and_differ():
    for language, sentences in geofacts.PATTERNS.items():
        assert set(sentences) == {*FACTS, *ADDED}
        assert len(set(sentences.values())) == len(sentences)
        for relation in ADDED:
            sentence = sentences[relation]
            assert (sentence.count("[X]"), sentence.count("[Y]")) == (1, 1)
            end = ENDS.get(language, ".").replace("[Y]", "")
            assert sentence.endswith(f"[Y]{end}"), sentence


def test_no_subject_gives_its_answer_away(rows):
    for language in set(LANGUAGES) - {"ar", "fa", "he", "ja", "ko", "ur", "zh"}:
        for row in rows[language]:
            if row["relation"] in ADDED:
                for word in re.sub(r"[-’.,'ʼ–—]", " ", row["subject"].casefold()).split():
                    assert len(word) < 4 or word[:4] not in row["answer_forms"][0].casefold()


def test_table_is_sorted_and_says_why_something_is_missing():
    keys = [(row["relation"], row["subject"]) for row in TABLE]
    assert keys == sorted(set(keys))
    assert all(row["object"] or row["left_out"] for row in TABLE)


# Reasons that leave a true fact out.
TRUE = ("", "its name is in the answer", "twelve others have this answer")


def list_pairs(relation):
    rows = (row for row in TABLE if row["relation"] == relation and row["left_out"] in TRUE)
    return [(row["subject"], row["object"]) for row in rows]


# langcodes has no script of these, and answers Latin.
UNKNOWN_SCRIPTS = {"anp", "nog", "xal"}


def test_scripts_and_countries_of_languages_are_those_of_langcodes():
    """langcodes has its own copy of CLDR's likely subtags."""
    for relation, part in (("P282", "script"), ("P2341", "territory")):
        pairs = dict(list_pairs(relation))
        likely = {x: getattr(Language.get(x).maximize(), part) for x in pairs}
        differing = {x for x in pairs if likely[x] != pairs[x]}
        assert differing == (UNKNOWN_SCRIPTS if relation == "P282" else set())


def test_scripts_are_those_in_which_the_languages_write_their_names():
    words = {"Latn": "LATIN", "Cyrl": "CYRILLIC", "Arab": "ARABIC", "Deva": "DEVANAGARI"}
    compared = 0
    for language, script in list_pairs("P282"):
        if script in words:
            try:
                name = Locale.parse(language).languages.get(language, "")
            except UnknownLocaleError:
                continue
            letters = [unicodedata.name(letter) for letter in name if letter.isalpha()]
            assert all(x.startswith((words[script], "MODIFIER")) for x in letters), name
            compared += bool(letters)
    assert compared > 60


def test_countries_of_cities_are_those_of_the_tz_database():
    pytz = pytest.importorskip("pytz")
    country = {zone: code for code, zones in pytz.country_timezones.items() for zone in zones}
    assert [pair for pair in list_pairs("P17") if country[pair[0]] != pair[1]] == []


def test_countries_of_a_time_zone_have_its_clock():
    """Hours from UTC in winter, as the tz database has them."""
    pytz = pytest.importorskip("pytz")
    hours = defaultdict(set)
    for country, zone in list_pairs("P421"):
        for name in pytz.country_timezones[country]:
            days = (datetime(2026, month, 15, tzinfo=UTC) for month in (1, 7))
            offsets = (day.astimezone(ZoneInfo(name)).utcoffset() for day in days)
            hours[zone].add(min(x.total_seconds() / 3600 for x in offsets))
    assert all(len(of) == 1 for of in hours.values())
    expected = {"GMT": 0, "Europe_Central": 1, "Africa_Western": 1, "Europe_Eastern": 2}
    expected |= {"Africa_Eastern": 3, "Gulf": 4, "Indochina": 7, "Atlantic": -4}
    assert {zone: hours[zone] for zone in expected} == {x: {y} for x, y in expected.items()}


# M49 has as many members of the United Nations in each region.
MEMBERS = {
    **{"011": 16, "014": 18, "015": 6, "017": 9, "018": 5},
    **{"005": 12, "013": 8, "021": 2, "029": 13},
    **{"030": 5, "034": 9, "035": 11, "143": 5, "145": 17},
    **{"039": 14, "151": 10, "154": 10, "155": 9},
    **{"053": 2, "054": 4, "057": 5, "061": 3},
}


def test_regions_have_the_countries_of_the_united_nations():
    """The regions are parts of the continents, which another table has."""
    table = [(x["subject"], x["object"]) for x in TABLE if x["relation"] == "P361"]
    assert Counter(region for country, region in table if country != "VA") == MEMBERS
    facts = read_table_rows("polyprobe.builder.recipes.geofacts", "facts.csv")
    continents = {row["country"]: row["object"] for row in facts if row["relation"] == "P30"}
    parts = defaultdict(set)
    for country, region in table:
        parts[region].add(continents[country])
    assert all(len(of) == 1 for of in parts.values()), parts
