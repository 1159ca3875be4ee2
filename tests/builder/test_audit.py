"""The audit on small tables: every check has a fixture named after its code."""

from io import StringIO
from itertools import permutations
from math import e

import pyarrow as pa
import pytest
from rich.console import Console
from scipy.stats import chi2

from polyprobe.builder.audit import audit_tables, make_audit_finding, to_json
from polyprobe.builder.audit.checks import CHECKS
from polyprobe.report.page.page import render_page
from polyprobe.report.show import render
from polyprobe.system.messages import PolyprobeError
from tests.builder.audited import IDS, make_tables, with_ids

# code: the changes, and the number of rows of fr with a finding
SPOILED = {
    "rows_with_second_answer": (
        # two English rows share a prompt, and each has the other's answer as a distractor
        [("en", i, {"prompt": "It lies in [Y]."}) for i in (0, 1)],
        2,
    ),
    "rows_with_duplicate_labels": (
        [
            ("fr", 0, {"candidates": ["Norvège", "PE\u0301ROU", "p\u00e9rou"]})
        ],  # two ways to write é
        1,
    ),
    "rows_with_invisible_characters": (
        [
            ("fr", 0, {"prompt": "Oslo est\u00a0en [Y]."}),
            ("fr", 1, {"subject": "Li\u200bma"}),
            ("fr", 2, {"candidates": ["Pérou", "Norvège", "\ufeffTchad"]}),
        ],
        3,
    ),
    "rows_with_mixed_alphabets": (
        [
            ("fr", 0, {"subject": "Оslo"}),  # a Cyrillic O
            ("fr", 1, {"candidates": ["Pérοu", "Norvège", "Tchad"]}),  # a Greek o
            ("fr", 2, {"candidates": ["Pérou", "Norvège", "µTchad"]}),  # no letter looks like it
        ],
        2,
    ),
    "rows_with_blank_ends": (
        [
            (
                "fr",
                0,
                {"candidates": ["Norvège", "Pérou ", "Tchad"], "prompt": "Oslo est en [Y]. "},
            ),
            ("fr", 1, {"subject": "\u00a0Lima"}),
            ("fr", 2, {"prompt": "Moundou est en [Y]. "}),  # as in a release
        ],
        2,
    ),
    "rows_with_missing_slot": ([("fr", 0, {"prompt": "Oslo est en <mask>."})], 1),
    "rows_with_several_slots": ([("fr", 0, {"prompt": "[Y] : Oslo est en [Y]."})], 1),
    "rows_with_one_candidate": (
        [
            ("fr", 0, {"candidates": ["Norvège"]}),
            ("fr", 1, {"candidates": [], "answers": []}),
        ],
        2,
    ),
    "rows_without_answer": (
        [("fr", 0, {"answers": []}), ("fr", 1, {"answers": [3]}), ("fr", 2, {"answers": [-1]})],
        3,
    ),
    "rows_with_other_fact": ([("fr", 1, {"fact_id": "f9"})], 1),
    "rows_with_shared_prompt": ([("fr", 1, {"prompt": "Oslo est en [Y]."})], 2),
}


def audit(changes=(), rows=None):
    return to_json(audit_tables(make_tables(changes, rows), "tiny/default"))


def test_nothing_is_found_in_a_clean_dataset():
    found = audit()
    assert found["rows"] == found["rows_parallel_in_all"] == 3
    assert found["reference"] == "en"
    for own in found["languages"].values():
        assert [own[code] for code in CHECKS] == [0] * len(CHECKS)
        assert own["rows_not_parallel_to_en"] == own["rows_not_parallel_to_en_strict"] == 0
        assert own["candidates_not_judged"] == 0
    assert found["ceiling"]["random"] == found["ceiling"]["answer_first"] == {"en-fr": 1.0}
    assert found["ceiling"]["draws"] == found["ceiling"]["standard_error"] == 0


def test_every_check_has_its_fixture_and_its_name():
    assert list(SPOILED) == list(CHECKS)


@pytest.mark.parametrize("code", SPOILED)
def test_a_spoiled_dataset_is_found_out(code):
    changes, expected = SPOILED[code]
    assert audit(changes)["languages"]["fr"][code] == expected


def test_candidates_are_judged_by_the_answers_of_other_rows():
    swapped = [("fr", 1, {"candidates": ["Norvège", "Pérou", "Tchad"]})]  # first and last
    found = audit(swapped)
    assert found["languages"]["fr"]["rows_not_parallel_to_en"] == 1
    assert found["rows_parallel_in_all"] == 3 - 1
    assert found["rows_with_ids"] == 0


def test_a_row_with_other_many_candidates_is_not_parallel_and_has_no_ceiling():
    found = audit([("fr", 0, {"candidates": ["Norvège", "Pérou"]})])
    assert found["languages"]["fr"]["rows_not_parallel_to_en"] == 1
    assert found["ceiling"]["rows_left_out"] == 1
    assert found["ceiling"]["random"] == {"en-fr": 1.0}


def test_ids_count_where_every_language_has_them():
    # a different label is allowed, a different id is not
    other_label = ("fr", 0, {"candidates": ["Norvège", "Tchad", "Pérou"], "candidate_ids": IDS[0]})
    other_id = ("fr", 1, {"candidate_ids": ["Q657", "Q419", "Q35"]})
    found = audit([*with_ids(), other_label])
    assert (found["rows_with_ids"], found["rows_parallel_in_all"]) == (3, 3)
    found = audit([*with_ids(), other_id])
    assert (found["rows_with_ids"], found["rows_parallel_in_all"]) == (3, 2)
    found = audit([*with_ids(), other_id, ("en", 1, {"candidate_ids": []})])
    assert (found["rows_with_ids"], found["rows_parallel_in_all"]) == (2, 3)  # by labels again


def test_an_answer_of_another_block_is_a_second_chance_and_what_is_not_an_answer_is_not_judged():
    # row 2 only, in P36: Peru and Norway are not answers there, so the pairs of P17 decide
    other = [(lang, 2, {"relation": "P36"}) for lang in ("en", "fr")]
    assert audit(other)["rows_parallel_in_all"] == 3
    shifted = ("fr", 2, {"candidates": ["Norvège", "Pérou", "Tchad"]})
    assert audit([*other, shifted])["rows_parallel_in_all"] == 2
    unseen = ("fr", 2, {"candidates": ["Pérou", "Suède", "Tchad"]})
    found = audit([*other, unseen])
    assert found["rows_parallel_in_all"] == 3
    assert found["languages"]["fr"]["candidates_not_judged"] == 1


HOMONYM = {
    "en": [
        ("P47", "Turkey", "Turkey borders [Y].", ["Georgia", "Chad"], 0),
        ("P47", "Florida", "Florida borders [Y].", ["Georgia", "Chad"], 0),
        ("P47", "Libya", "Libya borders [Y].", ["Georgia", "Chad"], 1),
    ],
    "el": [
        ("P47", "Τουρκία", "Τουρκία – [Y].", ["Γεωργία", "Τσαντ"], 0),
        ("P47", "Φλόριντα", "Φλόριντα – [Y].", ["Τζόρτζια", "Τσαντ"], 0),
        ("P47", "Λιβύη", "Λιβύη – [Y].", ["Τζόρτζια", "Τσαντ"], 1),
    ],
}


def test_of_a_homonym_any_observed_translation_counts_and_strictly_none():
    own = audit(rows=HOMONYM)["languages"]["el"]
    assert own["rows_not_parallel_to_en"] == 0
    assert own["rows_not_parallel_to_en_strict"] == 3


def test_without_english_the_first_language_is_the_reference():
    tables = make_tables()
    found = to_json(audit_tables({"fr": tables["fr"], "de": tables["en"]}, "tiny/x"))
    assert found["reference"] == "fr"
    assert "reference:fr" in found["signature"]
    assert list(found["ceiling"]["random"]) == ["fr-de"]


def test_second_answers_by_id_are_read_both_ways_in_symmetric_relations_alone():
    # row 0: Q1 borders Q20; row 1: Q419 borders ..., with Q1 = "Q657" among the distractors
    for relation, expected in (("P47", 1), ("P36", 0)):
        changes = [*with_ids()]
        for language in ("en", "fr"):
            values = {"relation": relation, "subject_id": "Q657", "candidate_ids": IDS[0]}
            changes.append((language, 0, values))  # Q657 - Q20
            changes.append(
                (language, 1, {"relation": relation, "subject_id": "Q20", "candidate_ids": IDS[1]})
            )  # Q20 - Q419, and Q657?
        own = audit(changes)["languages"]["fr"]
        assert own["rows_with_second_answer"] == expected


def test_second_answers_by_id_of_the_same_subject_under_another_prompt():
    changes = with_ids()
    for language in ("en", "fr"):
        for row in (0, 1):
            changes.append((language, row, {"subject_id": "Q1", "candidate_ids": IDS[row]}))
    assert audit(changes)["languages"]["en"]["rows_with_second_answer"] == 2


def test_answers_in_last_place_count_once_for_the_templates_of_a_fact():
    rows = [("P17", "", f"{i} [Y]", ["a", "b"], int(i < 2)) for i in range(3)]
    changes = [("en", row, {"fact_id": "fact"}) for row in (0, 1)]
    own = audit(changes, rows={"en": rows})["languages"]["en"]
    assert own["answer_positions"] == [1, 1]
    assert own["answers_last"] == 1


def test_answer_positions_against_chance():
    rows = {
        "en": [("P17", "", f"{i} [Y]", ["a", "b"][: 1 + (i < 8)], int(i < 6)) for i in range(9)]
    }
    rows["en"][8] = ("P17", "", "8 [Y]", ["a"], 0)  # one candidate: excluded
    own = audit(rows=rows)["languages"]["en"]
    assert own["answer_positions"] == [2, 6]
    assert own["answer_positions_expected"] == [8 / 2, 8 / 2]
    assert own["answers_last"] == 6
    statistic = (2 - 4) ** 2 / 4 + (6 - 4) ** 2 / 4
    assert own["answer_position_p_value"] == pytest.approx(chi2.sf(statistic, df=1))


def test_pools_of_different_sizes_expect_different_positions():
    rows = {"en": [("P17", "", "[Y]", ["a", "b"], 1), ("P17", "", "[Y]", ["a", "b", "c"], 2)]}
    own = audit(rows=rows)["languages"]["en"]
    assert own["answer_positions"] == [0, 1, 1]
    assert own["answer_positions_expected"] == pytest.approx([1 / 2 + 1 / 3, 1 / 2 + 1 / 3, 1 / 3])
    assert own["answers_last"] == 2


def test_without_answers_there_is_no_p_value():
    changes = [("en", i, {"answers": []}) for i in range(3)]
    assert audit(changes)["languages"]["en"]["answer_position_p_value"] is None


def test_labels_identical_are_counted_once_each_over_parallel_rows():
    own = audit([("fr", 0, {"candidates": ["Norvège", "Peru", "Tchad"]})])["languages"]["fr"]
    # subjects Oslo, Lima, Moundou; Norway, Peru, Chad; and Peru-Peru, not an answer: not judged
    assert own["candidates_not_judged"] == 1
    assert (own["labels_identical_to_en"], own["labels_compared"]) == (3 + 1, 3 + 3 + 1)


def test_symmetric_relations_have_their_share():
    found = audit([("en", 0, {"relation": "P190"}), ("en", 1, {"relation": "P47"})])
    assert found["rows_of_symmetric_relations"] == {"P530": 0, "P190": 1, "P47": 1}
    assert found["share_of_symmetric_relations"] == 2 / 3


def test_signature_changes_with_the_ids_alone():
    one, other = audit()["signature"], audit(with_ids())["signature"]
    assert one != other
    assert one == audit()["signature"]
    assert one.startswith("data:tiny/default@")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda t: {}, "tiny has no languages; name some that it has"),
        (lambda t: {**t, "fr": t["fr"][:2]}, "tiny: 'en' has 3 rows, 'fr' has 2; rows are"),
        (lambda t: {k: v[:0] for k, v in t.items()}, "tiny has no rows; build"),
        (lambda t: {**t, "fr": t["fr"].drop(["prompt"])}, "tiny: 'fr' has no column 'prompt'"),
        (
            lambda t: {"fr": t["fr"].drop(["candidates"])},
            "tiny: 'fr' has no column 'candidates'; expected prompt, candidates, answers",
        ),
        (
            lambda t: {"fr": t["fr"].drop(["candidates"]).append_column(
                "candidates", pa.array(["a"] * 3))},
            "tiny: 'fr': column 'candidates' is string; expected list",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_reported_in_one_line(spoil, message):
    with pytest.raises(PolyprobeError) as error:
        audit_tables(spoil(make_tables()), "tiny")
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_columns_that_are_not_needed_may_lack_and_values_may_be_null():
    tables = {k: t.select(["prompt", "candidates", "answers"]) for k, t in make_tables().items()}
    assert audit_tables(tables, "tiny").rows_parallel_in_all == 3
    null = pa.table(
        {
            "prompt": pa.array([None, "[Y]"], pa.string()),
            "candidates": pa.array([None, ["a", None]], pa.list_(pa.string())),
            "answers": pa.array([None, [1, None]], pa.list_(pa.int32())),
        }
    )
    own = audit_tables({"en": null}, "tiny").languages["en"]
    assert own["rows_with_missing_slot"] == 1
    assert own["rows_without_answer"] == 1


def test_page_needs_nothing_from_elsewhere_and_escapes_names():
    found = audit_tables(make_tables(SPOILED["rows_with_missing_slot"][0]), "<b>/x")
    page = render_page(make_audit_finding(found))
    assert "src=" not in page
    assert "<b>" not in page
    assert "no slot" in page
    assert "ceiling of RankC, random" in page
    assert "answer first" in page  # the second of the two maps


def test_accuracies_without_a_model_are_those_counted_by_hand():
    """Norway answers two rows and Peru one; in Norway's rows, both answer one other row."""
    changes = [(language, 2, {"answers": [1]}) for language in ("en", "fr")]
    found = audit(changes)["accuracy_without_a_model"]
    # No candidate shares a pair of letters with Oslo, Lima or Moundou: all tie.
    level = {"chance": 1 / 3, "letters": pytest.approx(1 / 3)}
    expected = {"rows": 3, **level, "frequency": pytest.approx((1 / 2 + 0 + 1 / 2) / 3)}
    assert found == {"overall": expected, "by_relation": {"P17": expected}}
    changes += [(language, 1, {"relation": "P36"}) for language in ("en", "fr")]
    apart = audit(changes)["accuracy_without_a_model"]["by_relation"]
    assert apart["P17"] == {"rows": 2, **level, "frequency": 1}
    assert apart["P36"] == {"rows": 1, **level, "frequency": pytest.approx(1 / 3)}
    unnamed = [*changes[:2], *(("en", number, {"relation": ""}) for number in range(3))]
    assert audit(unnamed)["accuracy_without_a_model"] == {"overall": expected, "by_relation": {}}
    # Limerick shares three of its seven pairs of letters with Lima, of three; Peru and Chad none.
    named = [(x, 1, {"candidates": ["Chad", "Limerick", "Peru"]}) for x in ("en", "fr")]
    letters = audit(named)["accuracy_without_a_model"]["overall"]["letters"]
    assert letters == pytest.approx((1 / 3 + 1 + 1 / 3) / 3)


def test_accuracies_without_a_model_are_of_ids_and_of_rows_with_an_answer():
    """By label the second row's candidates are other entities than by id."""
    other = [("en", 1, {"candidates": ["a", "b", "c"]}), ("en", 2, {"answers": [1]})]
    ids = with_ids()
    by_label, by_id = (audit([*other, *more])["accuracy_without_a_model"] for more in ([], ids))
    assert by_label["overall"]["frequency"] == pytest.approx((1 + 1 / 3 + 1) / 3)
    assert by_id["overall"]["frequency"] == pytest.approx((1 / 2 + 0 + 1 / 2) / 3)
    none = audit([("en", number, {"answers": []}) for number in range(3)])
    overall = {"rows": 0, "chance": None, "frequency": None, "letters": None}
    empty = {"overall": overall, "by_relation": {}}
    assert none["accuracy_without_a_model"] == empty


def show(changes):
    console = Console(width=200, record=True, file=StringIO())
    for block in render(make_audit_finding(audit_tables(make_tables(changes), "x")), 200):
        console.print(block)
    return console.export_text()


def test_table_names_the_languages_and_what_was_found_alone():
    text = show(SPOILED["rows_with_missing_slot"][0])
    head = text.splitlines()[0]
    assert "no slot" in head
    assert "label twice" not in head
    assert "nothing found: second answer, label twice" in text
    assert "3 rows, 3 parallel in all 2 languages (reference: en)" in text
    assert "accuracy without a model: chance 0.333, candidates ranked by how many other" in text
    assert "symmetric" not in text  # a line that is not needed is not there
    assert "both directions" not in text
    for name in ("prompt shared", "answer last", "p of positions", "ceiling, answer first"):
        assert (name in head) == (f"\n{name}: " in text)


def test_table_explains_ids_symmetric_relations_and_the_ceiling_where_they_matter():
    changes = [("en", 0, {"relation": "P190"}), ("fr", 1, {"candidates": ["x", "y", "z"]})]
    text = show(changes)
    assert "compared by id in 0 rows, by translations that the answers give in 3 rows" in text
    assert "rows of relations that hold in both directions: 33.3% (P190 1)" in text
    assert "candidates that cannot be compared: " in text


# The ceiling compared with full enumeration: every order of the entities, every prefix.


def rankc(one, other):
    """Return RankC of two lists of distinct scores, by definition."""
    size = len(one)
    weights = [e ** (size - j) for j in range(1, size + 1)]
    tops = [
        [set(sorted(range(size), key=lambda i, s=scores: -s[i])[:j]) for j in range(1, size + 1)]
        for scores in (one, other)
    ]
    overlaps = [len(a & b) / len(a) for a, b in zip(*tops, strict=True)]
    return sum(w * x for w, x in zip(weights, overlaps, strict=True)) / sum(weights)


def enumerate_orders(one, other, answers=()):
    """Return the mean of RankC over all orders of the entities; answers are indices."""
    names = sorted({*one, *other})
    values = []
    for order in permutations(range(len(names))):
        value = dict(zip(names, order, strict=True))
        scores = [
            [value[n] + 99 * (i in answers) for i, n in enumerate(own)] for own in (one, other)
        ]
        values.append(rankc(*scores))
    return sum(values) / len(values)


POOLS = {
    "one other": (["Q1", "Q2", "Q3"], ["Q1", "Q2", "Q4"]),
    "two change places": (["Q1", "Q2", "Q3"], ["Q1", "Q3", "Q2"]),
    "all others but the answer": (["Q1", "Q2", "Q3"], ["Q1", "Q4", "Q5"]),
    "answer another": (["Q1", "Q2", "Q3"], ["Q4", "Q2", "Q3"]),
}


@pytest.mark.parametrize("case", POOLS)
def test_ceiling_is_the_mean_over_all_orders(case):
    one, other = POOLS[case]
    changes = [*with_ids(), ("en", 0, {"candidate_ids": one}), ("fr", 0, {"candidate_ids": other})]
    found = audit_tables(make_tables(changes), "tiny").ceiling
    assert 0 < found.standard_error < 0.0005
    tolerance = 5 * found.standard_error
    # two of three rows are parallel, with value 1
    expected = (2 + enumerate_orders(one, other)) / 3
    assert found.random["en-fr"] == pytest.approx(expected, abs=tolerance)
    expected = (2 + enumerate_orders(one, other, answers=[0])) / 3
    assert found.answer_first["en-fr"] == pytest.approx(expected, abs=tolerance)


def test_parallel_pairs_are_exactly_1_beside_others_that_are_not():
    tables = make_tables()
    spoiled = make_tables([("fr", 0, {"candidates": ["Norvège", "Tchad", "Pérou"]})])
    both = {"en": tables["en"], "fr": tables["fr"], "qq": spoiled["fr"]}
    found = audit_tables(both, "tiny").ceiling
    assert list(found.random) == ["en-fr", "en-qq", "fr-qq"]
    assert found.random["en-fr"] == found.answer_first["en-fr"] == 1.0
    assert found.random["en-qq"] == found.random["fr-qq"] < 1
