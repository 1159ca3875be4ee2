import polars as pl
import pytest

from polyprobe.builder.facts import FACTS, LABELS, TEMPLATES
from polyprobe.builder.sources import bmlama as bmlama_files
from polyprobe.builder.sources import mpararel, read_source
from polyprobe.system.messages import PolyprobeError
from tests.builder.tiny_mpararel import PATTERNS, mirror

__all__ = ["mirror"]


def test_languages_are_those_with_tuples_and_zh():
    paths = [path.split("/") for path in mpararel.REPOSITORY.sha256]
    folders = {path[3] for path in paths if path[2] == "tuples"}
    assert tuple(sorted({*folders, "zh"})) == mpararel.LANGUAGES
    assert {"zh-hans", "zh-hant"} < folders
    assert "zh" not in folders


def test_facts_are_those_of_english_and_of_the_languages_asked(mirror):
    english = [("P30", "Q1", "Q5"), ("P36", "Q1", "Q2"), ("P36", "Q3", "Q4")]
    for languages in (["en"], ["zh"], ["zh-hant", "zh-hans"]):
        assert mpararel.read_facts(mirror, languages).facts.rows() == english
    french = mpararel.read_facts(mirror, ["fr"]).facts
    assert french.rows() == [english[0], ("P30", "Q3", "Q6"), *english[1:]]
    assert dict(french.schema) == FACTS


def test_labels_are_those_of_the_languages_asked(mirror):
    facts = mpararel.read_facts(mirror, ["fr", "fr"])
    assert facts.labels.rows() == [
        ("fr", "Q1", "Pérou"),
        ("fr", "Q2", "Lima"),
        ("fr", "Q3", "Tchad"),
        ("fr", "Q6", "Afrique"),
    ]
    assert dict(facts.labels.schema) == LABELS
    assert facts.repairs[mpararel.REASONS["blanks"]] == 1


def test_zh_is_simplified_and_where_that_lacks_traditional(mirror):
    facts = mpararel.read_facts(mirror, ["zh", "zh-hant"])
    zh = facts.labels.filter(language="zh")
    assert dict(zh.select("id", "label").iter_rows()) == {
        "Q1": "秘鲁",
        "Q2": "利马",
        "Q3": "查德",
        "Q4": "恩加美納",
    }
    assert facts.labels.filter(language="zh-hant")["label"].to_list()[0] == "秘魯"
    assert facts.templates.filter(language="zh").rows() == [
        ("zh", "P30", "mpararel:P30:0", "[X]位於[Y]"),
        ("zh", "P36", "mpararel:P36:0", "[X]的首都是[Y]"),
    ]


def test_templates_are_numbered_by_line_and_repaired_by_count(mirror):
    facts = mpararel.read_facts(mirror)
    assert facts.templates.filter(language="fr").rows() == [
        ("fr", "P30", "mpararel:P30:0", "[X] est en [Y]"),
        ("fr", "P36", "mpararel:P36:2", "[X] a pour capitale [Y]"),
    ]
    assert facts.templates.filter(language="en")["template"].to_list() == PATTERNS["en/P36"]
    assert dict(facts.templates.schema) == TEMPLATES
    assert facts.repairs == {
        mpararel.REASONS["blanks"]: 1,
        mpararel.REASONS["broken"]: 1,
        mpararel.REASONS["doubled"]: 1,
        mpararel.REASONS["repaired"]: 1,
    }


def test_only_files_of_the_languages_asked_are_read(mirror, monkeypatch):
    sums = mpararel.REPOSITORY.sha256
    spoiled = {path: "0" if "/zh-" in path else digest for path, digest in sums.items()}
    monkeypatch.setattr(mpararel, "REPOSITORY", mpararel.REPOSITORY._replace(sha256=spoiled))
    assert mpararel.read_facts(mirror, ["fr"]).labels.height == 4
    with pytest.raises(PolyprobeError, match="zh-hans"):
        mpararel.read_facts(mirror, ["zh"])


def test_unknown_language_is_named_with_its_neighbour(mirror):
    with pytest.raises(PolyprobeError, match="'zh-hansi' in mpararel; did you mean 'zh-hans'"):
        read_source("mpararel", mirror, ["zh-hansi"])


@pytest.mark.parametrize(
    ("pattern", "template"),
    [
        ("[X] a [Y]", "[X] a [Y]"),
        ("[ [X] ]a [ [Y] ]b", "[X]a [Y]b"),
        ("[X] a[ [Y] ]", "[X] a [Y]"),
        ("[X] [ [Y]-b", "[X] [Y]-b"),
        ("[ [X] ] a [Y] ]", "[X] a [Y]"),
        ("[Y] a [X]n] b", "[Y] a [X]n b"),
        ("[X] n] a [Y] ssä]", "[X]n a [Y]ssä"),
        ("[a b [X], [Y]", "a b [X], [Y]"),
        ("[a [Y]er [X]", "a [Y] er [X]"),
        ("[X], [Y]s a]", "[X], [Y]s a"),
        ("[X] \u200b\u200ba [Y]", "[X] a [Y]"),
        ("[Y]a[X]", "[Y]a[X]"),
    ],
)
def test_repair(pattern, template):
    assert mpararel.repair_pattern(pattern) == template
    assert mpararel.is_template(template)


@pytest.mark.parametrize("text", ["[X] a", "[X] [Y] [Y]", "(y], [X] [Y]", "[x] [Y]", "[ [X] [Y]"])
def test_what_is_not_a_template(text):
    assert not mpararel.is_template(text)


def count_labelled(facts, languages) -> tuple[int, int]:
    """Return the facts with both labels in every language, and their relations."""
    named = facts.labels.filter(pl.col("language").is_in(languages)).group_by("id").len()
    named = named.filter(pl.col("len") == len(languages))["id"].implode()
    kept = facts.facts.filter(pl.col("subject_id").is_in(named), pl.col("object_id").is_in(named))
    return kept.height, kept["relation"].n_unique()


@pytest.fixture(scope="module")
def everything(upstream):
    return mpararel.read_facts(upstream)


def list_with_patterns(_) -> list[str]:
    paths = (path.split("/") for path in mpararel.REPOSITORY.sha256)
    return sorted({path[3] for path in paths if path[2] == "patterns"})


# Labels are by entity, so that 3 facts of BMLAMA-17 count whose tuple as such has no Chinese: one
# end is labelled in simplified, the other in traditional.
@pytest.mark.parametrize(
    ("choose", "languages", "facts", "relations"),
    [
        (lambda _: bmlama_files.list_paths("17"), 17, 6016 + 3, 41),
        (lambda _: bmlama_files.list_paths("53"), 53, 3053, 29),
        (list_with_patterns, 46, 2903, 35),
        (lambda everything: set(everything) - {"zh"}, 103, 912, 7),
    ],
)
@pytest.mark.acceptance
def test_facts_with_labels_in_every_language(everything, choose, languages, facts, relations):
    chosen = list(choose(everything.labels["language"]))
    assert len(chosen) == languages
    assert count_labelled(everything, chosen) == (facts, relations)


@pytest.mark.acceptance
def test_tables_of_the_release(everything):
    assert everything.facts.height == 34_033  # 34,032 of English, one that it lacks
    assert everything.labels.select("language", "id").is_duplicated().sum() == 0
    assert everything.labels["language"].n_unique() == len(mpararel.LANGUAGES) == 104
    assert everything.labels.equals(everything.labels.sort("language", "id", "label"))
    assert everything.facts.equals(everything.facts.sort(pl.all()).unique(maintain_order=True))
    templates = everything.templates
    assert templates.select("language", "template_id").is_duplicated().sum() == 0
    assert templates.select("language", "relation", "template").is_duplicated().sum() == 0
    assert all(map(mpararel.is_template, templates["template"]))
    # zh again, as far as simplified and, for relations that it lacks, traditional go
    repairs = everything.repairs
    left_out = repairs[mpararel.REASONS["broken"]] + repairs[mpararel.REASONS["doubled"]]
    assert templates.filter(pl.col("language") != "zh").height == 15_794 - left_out
    assert (
        repairs[mpararel.REASONS["repaired"]],
        left_out,
        repairs[mpararel.REASONS["blanks"]],
    ) == (103, 1 + 30, 2)
