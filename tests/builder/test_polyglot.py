import io

import polars as pl
import pytest

from polyprobe.builder.facts import FACTS, PROMPTS, Facts
from polyprobe.builder.facts.labels import CONTRADICTIONS
from polyprobe.builder.sources import mpararel, polyglot
from tests.builder.tiny import place_archive
from tests.builder.tiny_polyglot import ROWS, known

# relation, dataset_id, stem, true, subject, object, as in the released files.
ENGLISH = [
    ("P36", "rome_1", "The capital of Peru is", "Lima", "Peru", "Lima"),
    ("P36", "calinet_2", "Lima is the capital of", "Peru", "Peru", "Lima"),
    ("P36", "calinet_3", "Norway's capital is", "Oslo", "Norway", "Oslo"),
    ("P36", "calinet_4", "Norway's seat of government is", "oslo", "Norway", "oslo"),
    ("P47", "calinet_5", "Nordland borders", "Linden (Nord)", "Nordland", "Linden (Nord)"),
    ("P449", "rome_6", "Newshour aired on", "BBC", "Newshour", "BBC"),
]
GERMAN = [
    ("P36", "rome_1", "Perus Hauptstadt ist <br> Hauptstadt ist die", "Lima", "Peru", "Lima"),
    ("P36", "calinet_2", "Lima ist die Hauptstadt von", "Peru", "Peru", "Limma"),
    ("P36", "calinet_3", "Die Hauptstadt\xa0ist", "Oslo", "Norwegen", "Oslo"),
    ("P36", "calinet_4", "Der Sitz ist", "Oslo", "Norwegen", "oslo"),
    ("P47", "calinet_5", "Nordland neben Linden (Nord)", "Linden (Nord)", "Nordland", "Linden"),
    ("P449", "rome_6", "Newshour lief auf", "Bbc", "Newshour", "BBC"),
]


BBC = "polyglot:P449:bbc"
OSLO = "polyglot:P36:oslo"


def write_parquet(rows) -> bytes:
    columns = ["relation", "dataset_id", "stem", "true", "subject", "object"]
    table = pl.DataFrame(rows, schema=columns, orient="row").with_columns(false=pl.lit("x <br> y"))
    file = io.BytesIO()
    table.write_parquet(file)
    return file.getvalue()


@pytest.fixture
def mirror(monkeypatch, tmp_path):
    contents = {"d/en-x.parquet": write_parquet(ENGLISH), "d/de-x.parquet": write_parquet(GERMAN)}
    names = {"PATHS": {"en": "d/en-x.parquet", "de": "d/de-x.parquet"}, "LANGUAGES": ("de", "en")}
    monkeypatch.setattr(mpararel, "read_facts", lambda *_: known())
    return place_archive(monkeypatch, tmp_path, polyglot, contents, **names)


def test_ids_are_wikidatas_where_one_entity_of_the_relation_has_the_label(mirror):
    facts = polyglot.read_facts(mirror).facts
    assert facts.schema == pl.Schema(FACTS)
    assert facts.rows() == [
        ("P36", "Q20", OSLO),  # of two rows, one of which writes `oslo`
        ("P36", "Q419", "Q2868"),  # of two rows, `Lima` and `lima`
        ("P449", "polyglot:P449:newshour", BBC),
        ("P47", "polyglot:P47:nordland", "polyglot:P47:linden (nord)"),
    ]


def test_labels_are_those_of_most_rows_and_true_names_what_is_asked_for(mirror):
    labels = polyglot.read_facts(mirror).labels
    german = {id_: label for _, id_, label in labels.filter(language="de").rows()}
    assert german == {
        "Q20": "Norwegen",
        "Q419": "Peru",
        "Q2868": "Lima",  # Lima and Limma: one row each, Lima first in order
        OSLO: "Oslo",  # Oslo, and `oslo` for `Oslo`: once each, O before o
        "polyglot:P449:newshour": "Newshour",
        BBC: "BBC",  # not Bbc
        "polyglot:P47:nordland": "Nordland",
        "polyglot:P47:linden (nord)": "Linden (Nord)",  # not the object column's
    }
    assert set(labels["language"]) == {"de", "en"}


def test_prompts_are_first_stems_that_ask_for_the_object(mirror):
    prompts = polyglot.read_facts(mirror, ["de"]).prompts
    assert prompts.schema == pl.Schema(PROMPTS)
    assert prompts.rows() == [
        ("de", "P36", "Q20", OSLO, "Der Sitz ist [Y].", "oslo"),
        ("de", "P36", "Q20", OSLO, "Die Hauptstadt ist [Y].", "Oslo"),
        ("de", "P36", "Q419", "Q2868", "Perus Hauptstadt ist [Y].", "Lima"),
        ("de", "P449", "polyglot:P449:newshour", BBC, "Newshour lief auf [Y].", "BBC"),
    ]


def test_repairs_are_counted_in_the_languages_asked_for(mirror):
    assert polyglot.read_facts(mirror, ["de"]).repairs == {
        polyglot.REASONS["lists"]: 1,
        polyglot.REASONS["untidy"]: 1,
        polyglot.REASONS["spoiled"]: 2,  # Bbc, and Oslo for oslo
        polyglot.REASONS["inverted"]: 1,
        polyglot.REASONS["answered"]: 1,
        CONTRADICTIONS: 2,  # Lima, Oslo
        polyglot.REASONS["own_ids"]: 5,
    }


def test_english_is_read_for_the_ids_and_not_given_unasked(mirror):
    german = polyglot.read_facts(mirror, ["de"])
    both = polyglot.read_facts(mirror, ["en", "de"])
    assert german.facts.equals(both.facts)
    assert set(german.labels["language"]) == set(german.prompts["language"]) == {"de"}


@pytest.fixture(scope="module")
def released(upstream) -> pl.DataFrame:
    return polyglot.read_stems(upstream, polyglot.LANGUAGES)


@pytest.fixture(scope="module")
def facts(upstream) -> Facts:
    return polyglot.read_facts(upstream)


def test_released_rows(released):
    assert sum(ROWS.values()) == 303_156
    assert dict(released.group_by("language").len().iter_rows()) == ROWS
    english = released.filter(language="en")
    assert english["relation"].n_unique() == 32
    assert set(released["dataset_id"]) == set(english["dataset_id"])


@pytest.mark.parametrize(
    ("without", "rows"),
    [
        ([], 214),
        (["ru"], 415),
        (["ru", "hu"], 705),
        (["ru", "hu", "sr"], 1073),
        (["ru", "hu", "sr", "hr"], 1520),
    ],
)
def test_rows_of_all_languages(released, without, rows):
    """FINDINGS section 3."""
    kept = released.filter(~pl.col("language").is_in(without))
    counts = kept.group_by("dataset_id").len()
    assert counts.filter(pl.col("len") == 20 - len(without)).height == rows


@pytest.mark.parametrize(("language", "percent"), [("sv", 89), ("de", 84), ("sr", 3)])
def test_untranslated_subjects(released, language, percent):
    english = released.filter(language="en").select("dataset_id", english="subject")
    rows = released.filter(language=language).join(english, on="dataset_id")
    assert round(100 * (rows["subject"] == rows["english"]).mean()) == percent


def test_real_counts(facts):
    assert facts.facts.height == 25_651
    assert facts.repairs == {
        polyglot.REASONS["lists"]: 94_851,
        polyglot.REASONS["untidy"]: 759,
        polyglot.REASONS["spoiled"]: 2889,
        polyglot.REASONS["inverted"]: 20_217,
        polyglot.REASONS["answered"]: 85,
        CONTRADICTIONS: 2060,
        polyglot.REASONS["own_ids"]: 10_890,
    }
    # 303,156 rows without those two; a few facts have a stem twice
    assert facts.prompts.height == 303_156 - 20_217 - 85 - 205
    assert facts.prompts["prompt"].str.count_matches("[Y]", literal=True).unique().to_list() == [1]


def test_two_thirds_of_the_facts_are_linked_at_both_ends(facts):
    ids = pl.col("subject_id", "object_id")
    linked = facts.facts.filter(pl.all_horizontal(ids.str.starts_with("Q")))
    assert linked.height == 16_912
    assert round(linked.height / facts.facts.height, 2) == 0.66


def test_every_fact_has_its_english_labels_and_every_prompt_its_fact(facts):
    english = facts.labels.filter(language="en")
    for end in ("subject_id", "object_id"):
        assert facts.facts.join(english, left_on=end, right_on="id", how="anti").is_empty()
    assert facts.prompts.join(facts.facts, on=list(FACTS), how="anti").is_empty()
    assert facts.labels.select("language", "id").is_duplicated().sum() == 0
