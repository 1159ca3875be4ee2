import polars as pl
import pytest

from polyprobe.builder.facts import LABELS, PROMPTS, Facts, count_changed
from polyprobe.builder.facts.labels import (
    choose_labels,
    clean,
    clean_facts,
    count_contradictions,
    tidy,
)

NAMED = pl.DataFrame(
    [
        ("de", "Q1", "Kopenhagen"),
        ("de", "Q1", "kopenhagen"),
        ("de", "Q1", "Kopenhagen"),
        ("de", "Q2", "Zürich"),
        ("de", "Q2", "Genf"),  # as often as Zürich, before it in order
        ("fr", "Q1", "Copenhague"),
    ],
    schema=LABELS,
    orient="row",
)


def test_the_label_of_most_rows_is_taken_and_the_first_of_equals():
    settled = choose_labels(NAMED)
    assert settled.schema == pl.Schema(LABELS)
    assert settled.rows() == [
        ("de", "Q1", "Kopenhagen"),
        ("de", "Q2", "Genf"),
        ("fr", "Q1", "Copenhague"),
    ]
    assert choose_labels(NAMED.reverse()).equals(settled)


def test_contradictions_are_counted_by_language_and_id():
    assert count_contradictions(NAMED) == 2
    assert count_contradictions(NAMED.filter(language="fr")) == 0


def test_texts_become_plain_where_they_are_not_spelled_so():
    rows = pl.DataFrame(
        {
            "language": ["es", "fa", "es", "de"],
            "a": ["Nueva\xa0York", "می\u200cرود", " Lima\u200b", None],
            "b": ["x", "y", "z", "Wien "],
        }
    )
    plain = tidy(rows, ["a", "b"])
    assert plain["a"].to_list() == ["Nueva York", "می\u200cرود", "Lima", None]
    assert plain["b"].to_list() == ["x", "y", "z", "Wien"]
    assert count_changed(rows, plain, ["a"]) == 2
    assert count_changed(rows, plain, ["a", "b"]) == 3


# Appendix 1 of the Table of General Standard Chinese Characters (2013) pairs these characters.
@pytest.mark.parametrize(
    ("traditional", "simplified"),
    [("臺灣", "台湾"), ("德語", "德语"), ("裏海", "里海"), ("乾隆", "乾隆"), ("乾燥", "干燥")],
)
def test_chinese_is_simplified_and_japanese_is_not(traditional, simplified):
    assert clean(traditional, "zh") == simplified
    assert clean(simplified, "zh") == simplified
    assert clean(traditional, "ja") == traditional


def test_facts_have_simplified_chinese_in_labels_and_prompts():
    labels = [("zh", "Q1", "德語"), ("ja", "Q1", "獨逸語")]
    prompts = [("zh", "P37", "Q2", "Q3", "奧地利說[Y]。", "德語")]
    known = Facts(
        facts=pl.DataFrame(),
        labels=pl.DataFrame(labels, schema=LABELS, orient="row"),
        repairs={},
        prompts=pl.DataFrame(prompts, schema=PROMPTS, orient="row"),
    )
    made = clean_facts(known)
    assert made.labels.rows() == [("zh", "Q1", "德语"), ("ja", "Q1", "獨逸語")]
    assert made.prompts.rows() == [("zh", "P37", "Q2", "Q3", "奥地利说[Y]。", "德语")]
