import polars as pl

from polyprobe.builder.facts import LABELS, count_changed
from polyprobe.builder.facts.labels import choose_labels, count_contradictions, tidy

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
