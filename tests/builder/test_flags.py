"""The flags of rows: answers in subjects by hand and by another algorithm, and all languages."""

import random
import re

import pytest

from polyprobe.builder.facts.flags import flag_rows, occurs
from polyprobe.schema.columns import FLAGGED, FLAGS, SCHEMA, to_table
from tests.builder.audited import make_rows


@pytest.mark.parametrize(
    ("label", "text", "expected"),
    [
        ("Guinea", "Equatorial Guinea", True),
        ("guinea", "GUINEA-Bissau", True),
        ("Oman", "Romania", False),
        ("Oman", "Romania and Oman", True),  # a later occurrence counts
        ("India", "Indian Ocean", False),
        ("Nice", "Nice2", False),
        ("Athens (Georgia)", "Athens (Georgia)", True),
        ("\u00c9tat", "l'E\u0301tat", True),  # composed and decomposed
        ("\u0915", "\u0915\u093f\u0924", False),  # a vowel sign continues the letter
        ("\u6728", "\u6728\u661f", True),  # Chinese has no spaces
        ("\u30c8\u30e8\u30bf", "\u30c8\u30e8\u30bf\u81ea\u52d5\u8eca", True),
        ("NASA", "NASA\u603b\u90e8", True),
        ("\u0e44\u0e17\u0e22", "\u0e1b\u0e23\u0e30\u0e40\u0e17\u0e28\u0e44\u0e17\u0e22", True),
        ("\uc778\ub3c4", "\uc778\ub3c4\uc591", False),  # Korean: India in Indian Ocean
        ("", "Peru", False),
    ],
)
def test_a_label_in_a_text(label, text, expected):
    assert occurs(label, text) is expected


def test_in_ascii_it_is_a_regular_expression_with_bounds():
    random.seed(0)
    found = 0
    for _ in range(5000):
        text = "".join(random.choices("aAb1 -", k=9))
        label = "".join(random.choices("aAb1 -", k=2))
        bounded = rf"(?<![^\W_]){re.escape(label)}(?![^\W_])"
        if label.strip() == label and "  " not in text:
            expected = bool(re.search(bounded, text.strip(), re.IGNORECASE))
            assert occurs(label, text) is expected
            found += expected
    assert found > 100


def test_a_flag_in_one_language_is_set_in_all():
    rows = {language: make_rows(language) for language in ("en", "fr")}
    rows["fr"][1] = rows["fr"][1]._replace(subject="Lima (P\u00e9rou)")
    rows = {x: [*part[:2], part[2]._replace(relation="P530")] for x, part in rows.items()}
    flagged = flag_rows(rows)
    for part in flagged.values():
        assert [row.flags for row in part] == [[], ["answer_in_subject"], ["second_answers"]]
    plain = {x: [row._replace(flags=None) for row in part] for x, part in flagged.items()}
    assert plain == rows
    assert to_table(flagged["en"]).schema == FLAGGED
    assert to_table(flagged["en"][:1]).schema == FLAGGED  # also without a flag
    assert to_table(rows["en"]).schema == SCHEMA
    assert {*FLAGS} - {"inverted", "ends_in_answer", "repeated_candidate"} == {
        flag for part in flagged.values() for row in part for flag in row.flags
    }
