"""Donors compared with loops over all rows, on geofacts and on random rows like BMLAMA's."""

import random

import pyarrow as pa
import pytest

from polyprobe.eval.questions import annotate, choose_donors
from polyprobe.schema.columns import Row, to_table
from polyprobe.schema.load import load_facts

OBJECTS = 14


def make_rows(seed, language="en", templates=1):
    """Make rows of two relations: subjects with one or two objects, pools of 2 to 8 candidates.

    The labels differ between languages; in "same" two subjects share their label and prompt.
    """
    draw, rows = random.Random(seed), []
    for relation in ("P19", "P30"):
        for subject in range(12):
            right = draw.sample(range(OBJECTS), draw.choice((1, 1, 2)))
            for item in right:
                others = [x for x in range(OBJECTS) if x not in right]
                pool = draw.sample(others, draw.randint(1, 7))
                place = draw.randint(0, len(pool))
                pool.insert(place, item)
                label = f"{language} {subject - subject % 2 if language == 'same' else subject}"
                rows += [
                    Row(
                        fact_id=f"{relation}:Q{subject}:T{item}",
                        relation=relation,
                        subject_id=f"Q{subject}",
                        object_id=f"T{item}",
                        subject=label,
                        prompt=f"{relation} {template} {label}: [Y].",
                        candidates=[f"{language} object {x}" for x in pool],
                        candidate_ids=[f"T{x}" for x in pool],
                        answers=[place],
                        answer_forms=[f"{language} object {item}"],
                        template_id=f"{relation}-{template}",
                    )
                    for template in range(templates)
                ]
    return rows


def without_ids(table):
    """Return the rows of a dataset that has labels and row numbers alone."""
    numbers = pa.array([str(n) for n in range(len(table))])
    table = table.drop_columns(["subject_id", "candidate_ids", "template_id", "object_id"])
    return table.set_column(table.schema.get_field_index("fact_id"), "fact_id", numbers)


def list_eligible(rows):
    """Return the rows that may be each row's donor, from the definition."""
    subject = "subject_id" if "subject_id" in rows[0] else "subject"
    names = "candidate_ids" if "candidate_ids" in rows[0] else "candidates"
    answers = {
        (row["relation"], row[subject]): {
            x[names][k]
            for x in rows
            if (x["relation"], x[subject]) == (row["relation"], row[subject])
            for k in x["answers"]
        }
        for row in rows
    }
    found = []
    for row in rows:
        places = []
        for place, other in enumerate(rows):
            if (
                other["relation"] == row["relation"]
                and other.get("template_id") == row.get("template_id")
                and other[subject] != row[subject]
                and other["prompt"] != row["prompt"]
                and not answers[other["relation"], other[subject]] & set(row[names])
            ):
                places.append(place)
        found.append(places)
    return found


TABLES = {
    "geofacts": lambda: load_facts("geofacts", None, ["el"])["el"],
    "one template": lambda: to_table(make_rows(1)),
    "three templates": lambda: to_table(make_rows(2, templates=3)),
    "equal labels": lambda: to_table(make_rows(3, language="same")),
    "no ids": lambda: without_ids(to_table(make_rows(4))),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_donor_is_what_the_definition_allows(name):
    table = TABLES[name]()
    donors, eligible = choose_donors(table), list_eligible(table.to_pylist())
    for donor, places in zip(donors, eligible, strict=True):
        assert donor in places if places else donor is None
    assert any(len(places) > 1 for places in eligible)
    assert donors == choose_donors(table)


@pytest.mark.parametrize("name", ["geofacts", "one template", "three templates"])
def test_the_choice_does_not_depend_on_the_order_of_rows(name):
    table = TABLES[name]()
    order = list(range(len(table)))
    random.Random(5).shuffle(order)
    ids, subjects = table["fact_id"].to_pylist(), table["subject_id"].to_pylist()
    templates = table["template_id"].to_pylist()
    chosen = {}
    for rows in (range(len(table)), order):
        donors = choose_donors(table.take(list(rows)))
        found = {
            (ids[row], templates[row]): None if donor is None else subjects[rows[donor]]
            for row, donor in zip(rows, donors, strict=True)
        }
        assert chosen in ({}, found)
        chosen = found


def test_every_language_gives_the_same_donors():
    for tables in (
        load_facts("geofacts", None, ["en", "zh", "ar", "fi"]),
        {x: to_table(make_rows(6, x)) for x in ("en", "fr")},
    ):
        [first, *others] = [choose_donors(table) for table in tables.values()]
        assert any(donor is not None for donor in first)
        assert all(donors == first for donors in others)


def test_columns_for_the_scores():
    """The donor's id and prompt, lengths, and the place of the most frequent answer."""
    rows = make_rows(7)
    table = to_table(rows)
    donors = choose_donors(table)
    found = annotate({"en": table}, donors)["en"].to_pylist()
    for row, donor, got in zip(rows, donors, found, strict=True):
        assert got["donor"] == (None if donor is None else rows[donor].fact_id)
        assert got["donor_prompt"] == (None if donor is None else rows[donor].prompt)
        assert got["n_characters"] == [len(text) for text in row.candidates]
        counts = [
            len({x.fact_id for x in rows if x.object_id == k and x.relation == row.relation})
            - (k == row.object_id)
            for k in row.candidate_ids
        ]
        first = [k for k, count in enumerate(counts) if count == max(counts)]
        assert got["baseline"] == pytest.approx((row.answers[0] in first) / len(first))
        kept = [count + (k == row.object_id)
                for k, count in zip(row.candidate_ids, counts, strict=True)]  # fmt: skip
        first = [k for k, count in enumerate(kept) if count == max(kept)]
        assert got["majority"] == pytest.approx((row.answers[0] in first) / len(first))
        assert got["flags"] == []
    bare = annotate({"en": table}, None)["en"]
    assert bare["donor"].null_count == bare["donor_prompt"].null_count == len(table)
