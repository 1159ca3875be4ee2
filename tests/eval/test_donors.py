"""Donors compared with loops over all rows, on geofacts and on random rows like BMLAMA's."""

import random
from collections import Counter
from functools import cache
from itertools import count

import pyarrow as pa
import pytest

from polyprobe.eval.donors import deal_donors
from polyprobe.eval.questions import annotate
from polyprobe.metrics.rankc_subject.formulas import link_units
from polyprobe.schema.columns import Row, to_table
from polyprobe.schema.load import load_facts
from tests.metrics.plain_units import share_bigrams

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


def list_answers(rows, names, subject):
    """Return the answers of each relation's subjects."""
    answers = {}
    for row in rows:
        of = answers.setdefault((row["relation"], row[subject]), set())
        of |= {row[names][k] for k in row["answers"]}
    return answers


def list_eligible(rows):
    """Return the rows that may be each row's donor, and its answers' places, by the definition."""
    subject = "subject_id" if "subject_id" in rows[0] else "subject"
    names = "candidate_ids" if "candidate_ids" in rows[0] else "candidates"
    answers = list_answers(rows, names, subject)
    found = []
    for row in rows:
        right = {row[names][k] for k in row["answers"]}
        places = {}
        for place, other in enumerate(rows):
            leaves = answers[other["relation"], other[subject]]
            if (
                other["relation"] == row["relation"]
                and other.get("template_id") == row.get("template_id")
                and other[subject] != row[subject]
                and other["prompt"] != row["prompt"]
                and not leaves & right
                and len(set(row[names]) - leaves) > 1
            ):
                places[place] = [k for k, name in enumerate(row[names]) if name in leaves]
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
    """Every row that can have a donor has one, and its answers are known."""
    table = TABLES[name]()
    donors, eligible = deal_donors(table), list_eligible(table.to_pylist())
    for donor, answers, places in zip(donors.rows, donors.answers, eligible, strict=True):
        assert donor in places if places else donor is None
        assert answers == places.get(donor)
    assert any(donors.answers)
    assert any(len(places) > 1 for places in eligible)
    assert donors == deal_donors(table)


@pytest.mark.parametrize("name", ["geofacts", "one template", "three templates"])
def test_the_choice_does_not_depend_on_the_order_of_rows(name):
    table = TABLES[name]()
    order = list(range(len(table)))
    random.Random(5).shuffle(order)
    ids, subjects = table["fact_id"].to_pylist(), table["subject_id"].to_pylist()
    templates = table["template_id"].to_pylist()
    chosen = {}
    for rows in (range(len(table)), order):
        donors = deal_donors(table.take(list(rows))).rows
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
        [first, *others] = [deal_donors(table) for table in tables.values()]
        assert any(donor is not None for donor in first.rows)
        assert all(donors == first for donors in others)


def test_templates_of_a_fact_have_the_donor_of_the_fact():
    rows = make_rows(2, templates=3)
    by_fact = {}
    for row, donor in zip(rows, deal_donors(to_table(rows)).rows, strict=True):
        if donor is not None:
            assert rows[donor].template_id == row.template_id
            by_fact.setdefault(row.fact_id, []).append(rows[donor].subject_id)
    assert all(len(x) == 3 and len(set(x)) == 1 for x in by_fact.values())
    assert len(by_fact) > 12


def ask(answers, pools=None, relation="P140"):
    """Make a row for each subject, with its answer; the pool is of all objects by default."""
    objects = [f"T{k}" for k in range(OBJECTS)]
    rows = []
    for subject, right in enumerate(answers):
        pool = objects if pools is None else [objects[k] for k in (right, *pools[subject])]
        rows.append(
            Row(
                fact_id=f"{relation}:Q{subject}:T{right}",
                relation=relation,
                subject_id=f"Q{subject}",
                object_id=f"T{right}",
                subject=f"s{subject}",
                prompt=f"{relation} s{subject} [Y]",
                candidates=pool,
                candidate_ids=pool,
                answers=[pool.index(objects[right])],
                answer_forms=[objects[right]],
                template_id="t",
            )
        )
    return rows


def count_uses(donors):
    return Counter(donor for donor in donors.rows if donor is not None)


def find_least_use(eligible):
    """Return the least possible largest use of a donor, by augmenting paths."""

    def place(row, limit, users, visited):
        for donor in eligible[row]:
            if donor in visited:
                continue
            visited.add(donor)
            of = users.setdefault(donor, [])
            if len(of) < limit:
                of.append(row)
                return True
            for another in of:
                if place(another, limit, users, visited):
                    of[of.index(another)] = row
                    return True
        return False

    def fits(limit):
        users = {}
        return all(place(row, limit, users, set()) for row, x in enumerate(eligible) if x)

    return next(filter(fits, count(0)))


def count_pairs(eligible):
    """Return the largest number of pairs of rows that serve each other."""

    @cache
    def best(rows):
        if not rows:
            return 0
        first, *rest = rows
        pairs = [
            1 + best(tuple(x for x in rest if x != y))
            for y in rest
            if y in eligible[first] and first in eligible[y]
        ]
        return max([best(tuple(rest)), *pairs])

    return best(tuple(range(len(eligible))))


def find_circle(rows, start):
    """Return the number of donors, each of the one before, until the row itself; 0 for never."""
    row = rows[start]
    for size in range(1, len(rows) + 1):
        if row in (None, start):
            return size if row == start else 0
        row = rows[row]
    return 0


def test_donors_are_used_as_evenly_as_possible():
    """1,000 relations of 2 to 11 subjects: pairs where these can be, and few beside them.

    A subject that no pair has makes a circle of three with a pair, or else shares a donor. Few
    relations in a hundred could have another pair, or a lower use.
    """
    lost, above = 0, 0
    for seed in range(1000):
        draw = random.Random(seed)
        n, k = draw.randint(2, 11), draw.randint(1, 5)
        answers = [min(draw.randrange(k), draw.randrange(k)) for _ in range(n)]
        pools = [draw.sample([*range(right), *range(right + 1, 8)], draw.randint(1, 3))
                 for right in answers] if seed % 2 else None  # fmt: skip
        table = to_table(ask(answers, pools))
        donors, eligible = deal_donors(table), list_eligible(table.to_pylist())
        largest, least = max(count_uses(donors).values(), default=0), find_least_use(eligible)
        assert least <= largest <= least + (least > 0)
        sizes = Counter(find_circle(donors.rows, row) for row in range(n))
        lost += count_pairs(eligible) - sizes[2] // 2 - sizes[3] // 3
        above += largest > max(least, 2)
    assert 0 <= lost < 20
    assert above < 10


def test_every_fact_of_geofacts_has_a_donor():
    """Each subject serves once; of an odd number three make a circle."""
    table = load_facts("geofacts", None, ["en"])["en"]
    donors, relations = deal_donors(table), table["relation"].to_pylist()
    assert None not in donors.rows
    for relation, size in Counter(relations).items():
        rows = [row for row, x in enumerate(relations) if x == relation]
        circles = Counter(find_circle(donors.rows, row) for row in rows)
        assert circles == Counter({2: size - 3 * (size % 2), 3: 3 * (size % 2)})
        assert {donors.rows[row] for row in rows} == {*rows}
    sizes = [len(x) for x in table["candidates"].to_pylist()]
    assert min(n - len(x) for n, x in zip(sizes, donors.answers, strict=True)) >= 2
    assert Counter(relations).keys() == {"P30", "P36", "P37", "P38"}


def test_where_most_have_the_same_answer_the_others_serve_them_evenly():
    """30 of 50 subjects: 20 pairs, and ten of their donors serve another subject too."""
    table = to_table(ask([0] * 30 + [1 + k % 4 for k in range(20)]))
    donors = deal_donors(table)
    assert Counter(count_uses(donors).values()) == {1: 30, 2: 10}
    units = link_units(range(50), donors.rows)
    assert Counter(Counter(units).values()) == {2: 10, 3: 10}


def test_without_another_answer_there_is_no_donor():
    donors = deal_donors(to_table(ask([0] * 5)))
    assert donors.rows == donors.answers == [None] * 5
    assert deal_donors(to_table(ask([3]))).rows == [None]
    # the only subject with another answer would leave one candidate
    two = ask([0, 0, 1], pools=[[1], [1, 2], [0, 2]])
    assert deal_donors(to_table(two)).rows == [None, 2, 1]


def test_a_pair_serves_in_all_relations_of_both_subjects():
    rows = [*ask([*range(12)], relation="P36"), *ask([*range(12)], relation="P37")]
    donors = deal_donors(to_table(rows)).rows
    assert [donor - 12 for donor in donors[12:]] == donors[:12]


def test_columns_for_the_scores():
    """The donor's id, prompt and answers, lengths, names, the place of the most frequent answer."""
    rows = make_rows(7)
    table = to_table(rows)
    donors = deal_donors(table)
    found = annotate({"en": table}, donors)["en"].to_pylist()
    for row, donor, leaves, got in zip(rows, *donors[:2], found, strict=True):
        served = None if donor is None else rows[donor]
        assert got["donor"] == (served and served.fact_id)
        assert got["donor_prompt"] == (served and served.prompt)
        assert got["donor_answers"] == leaves
        assert got["n_characters"] == [len(text) for text in row.candidates]
        for start, other in (("", row), ("donor_", served)):
            if other is None:
                assert got[f"{start}bigrams"] is got[f"{start}initials"] is None
                continue
            pairs = [(other.subject, name) for name in row.candidates]
            expected = [share_bigrams(*pair) for pair in pairs]
            assert got[f"{start}bigrams"] == pytest.approx(expected)
            assert got[f"{start}initials"] == [x[0] == y[0] for x, y in pairs]
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
    bare = annotate({"en": table})["en"]
    for name in ("donor", "donor_prompt", "donor_answers"):
        assert bare[name].null_count == len(table)
    assert "bigrams" not in bare.column_names


def test_a_language_with_other_candidates_has_no_answers_of_the_donor():
    tables = {x: to_table(make_rows(7, x)) for x in ("en", "fr")}
    rows = tables["fr"].to_pylist()
    place = next(n for n, row in enumerate(rows) if len(row["candidates"]) > 2)
    for name in ("candidates", "candidate_ids"):
        wrong = (rows[place]["answers"][0] + 1) % len(rows[place][name])
        del rows[place][name][wrong]
    tables["fr"] = pa.Table.from_pylist(rows, tables["fr"].schema)
    donors = deal_donors(tables["en"])
    found = annotate(tables, donors)
    assert found["en"]["donor_answers"].to_pylist() == donors.answers
    expected = [*donors.answers[:place], None, *donors.answers[place + 1 :]]
    assert found["fr"]["donor_answers"].to_pylist() == expected
