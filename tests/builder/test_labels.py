import random
import re
import unicodedata
from collections import Counter

import polars as pl
import pytest

from polyprobe.builder.facts import LABELS, PROMPTS, Facts, count_changed
from polyprobe.builder.facts import labels as alphabets
from polyprobe.builder.facts.labels import (
    CONTRADICTIONS,
    INVISIBLE,
    choose_labels,
    clean_facts,
    mend,
    normalise,
    tidy,
    unmix,
)
from polyprobe.builder.facts.truths import flag_rows, occurs
from polyprobe.builder.output.folder import FLAGS
from polyprobe.builder.sources.bmlama import read_published
from polyprobe.schema.columns import FLAGGED, SCHEMA, to_table
from tests.builder.audited import make_rows

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


def find_invisible(text, language):
    return normalise(text, language) != text


def test_the_label_of_most_rows_is_taken_and_the_first_of_equals():
    repairs = Counter()
    settled = choose_labels(NAMED, repairs)
    assert settled.schema == pl.Schema(LABELS)
    assert settled.rows() == [
        ("de", "Q1", "Kopenhagen"),
        ("de", "Q2", "Genf"),
        ("fr", "Q1", "Copenhague"),
    ]
    assert choose_labels(NAMED.reverse(), repairs).equals(settled)
    assert repairs == {CONTRADICTIONS: 2}


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
    assert mend(traditional, "zh") == simplified
    assert mend(simplified, "zh") == simplified
    assert mend(traditional, "ja") == traditional


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


# Invisible characters, escaped here so that the table is readable.

FIXES = (
    # language, text, result
    ("es", "son \u200b\u200bciudades gemelas.", "son ciudades gemelas."),  # as published
    ("hy", "\ufeffA \u056b", "A \u056b"),
    ("ko", "\ud0c8\u200e", "\ud0c8"),
    ("fr", "Qui\u00a0?", "Qui ?"),
    ("fr", "\u00ab\u202fa", "\u00ab a"),
    ("fr", "a \u00a0 b", "a b"),
    ("fr", "a \u200b b", "a b"),
    ("en", "\u00a0a\u00a0", "a"),
    ("en", "so\u00adft", "soft"),
    ("en", "a\tb\u2028c\u2009d", "a b c d"),
    ("en", "a\u2060b\u2066c\u2069\u202ad\u202c", "abcd"),
    ("ko", "\u3164\uac00", "\uac00"),
    ("en", "a\u3000b", "a b"),
    ("ko", "\uac00\u3000\ub098", "\uac00 \ub098"),
    ("fa", "\u06a9\u0644\u200c \u0622\u0646", "\u06a9\u0644 \u0622\u0646"),
    ("fa", "\u0622\u0644\u067e\u200c-\u06a9", "\u0622\u0644\u067e-\u06a9"),
    ("fa", "\u0645\u06cc\u200c\u200c\u0631", "\u0645\u06cc\u200c\u0631"),
    ("fa", "\u200c\u0645\u06cc\u200c", "\u0645\u06cc"),
    ("de", "Auf\u200clage", "Auflage"),
    ("en", "1\u200b2\u200bab", "12ab"),
    ("bn", "\u09b8\u09cd\u200c\u00a0\u098f", "\u09b8\u09cd\u200c \u098f"),
)  # fmt: skip

SPELLING = (
    ("fa", "\u0645\u06cc\u200c\u0631\u0648\u062f"),
    ("ur", "\u06a9\u06c1\u200c\u06a9\u06c1"),
    ("bn", "\u09b2\u09cd\u200c\u09b8\u09cd\u200c"),  # after a virama, at the end
    ("bn", "\u09b8\u09cd\u200c \u098f"),  # after a virama, before a space
    ("bn", "\u09ae\u09bf\u0995\u200c\u09b2\u09cb"),
    ("hi", "\u092e\u093f\u0928\u094d\u200d\u0938"),
    ("km", "\u1780\u200b\u1781"),
    ("ja", "\u5c71\u3000\u5ddd"),
    ("zh_hans", "\u5c71\u3000\u5ddd"),
    ("ar", "\u0605\u0661"),
    ("en", "a  b "),  # plain spaces are visible and are not repaired
    ("en", ""),
)  # fmt: skip


@pytest.mark.parametrize(("language", "text", "mended"), FIXES)
def test_invisible_characters_are_found_and_mended(language, text, mended):
    assert find_invisible(text, language)
    assert normalise(text, language) == mended
    assert not find_invisible(mended, language)


@pytest.mark.parametrize(("language", "text"), SPELLING)
def test_spelling_is_kept(language, text):
    assert not find_invisible(text, language)
    assert normalise(text, language) == text


def test_no_letter_digit_or_plain_blank_is_invisible():
    assert not [c for c in INVISIBLE if c.isalnum() and c not in "\u115f\u1160\u3164\uffa0"]
    assert " " not in INVISIBLE
    assert "\ufe0f" not in INVISIBLE  # selects the glyph


@pytest.mark.parametrize(
    ("config", "expected"),
    # U+200B in es, gl, hy, af, ga, he, U+FEFF in hy, U+200E in ko and cy, U+200C before a blank
    # in fa; the rest of Persian's 461 and 92 prompts with U+200C are good spelling, as are
    # the 34 of Bengali and the 2 of Hindi.
    [
        ("17", {"es": 977, "fa": 6, "he": 51, "ko": 1}),
        ("53", {"af": 21, "cy": 3, "es": 804, "fa": 1, "ga": 2, "gl": 804, "he": 1, "hy": 970}),
    ],
)
@pytest.mark.acceptance
def test_published_prompts_with_invisible_characters(upstream, config, expected):
    found = {
        language: sum(find_invisible(prompt, language) for prompt in own.prompt)
        for language, own in read_published(config, upstream).columns.items()
    }
    assert {language: count for language, count in found.items() if count} == expected


# Words that mix alphabets.

GREEK = "\u0391\u03c1\u03bc\u03b5\u03bd\u03b9\u03ba\u03ac"  # Armenian, all in Greek


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A" + GREEK[1:], GREEK),
        (f"(A{GREEK[1:]}), 3", f"({GREEK}), 3"),
        ("\u0420\u00f3\u043b\u0438", "\u0420\u043e\u0301\u043b\u0438"),  # the accent stays
        ("\u0422ime", "Time"),  # towards Latin as well
        ("Heyd\u04d9rabad", "Heyd\u0259rabad"),
        ("\u03bcTorrent", "\u03bcTorrent"),  # no Latin letter has the shape
        ("A\u0391", "A\u0391"),  # a tie
        ("\u0423\u00e7\u043b\u04d1\u0445", "\u0423\u04ab\u043b\u04d1\u0445"),  # Chuvash
        ("\u0413I\u0430\u043b", "\u0413I\u0430\u043b"),  # Chechen
        ("\u042fndex", "\u042fndex"),
        ("Aligarh \u0410лигарх", "Aligarh \u0410лигарх"),  # each word in its own
        ("plain", "plain"),
    ],
)
def test_unmix(text, expected):
    assert unmix(text) == expected
    assert unmix(expected) == expected
    rows = pl.DataFrame({"language": "en", "label": [text, "x", None]})
    assert tidy(rows, ["label"], mend)["label"].to_list() == [expected, "x", None]


@pytest.mark.parametrize("shape", alphabets.LETTERS["shapes"])
def test_letters_of_one_shape_are_of_different_alphabets(shape):
    assert len({unicodedata.name(letter).split()[0] for letter in shape}) == len(shape)


# The flags of rows: answers in subjects by hand and by another algorithm, and all languages.


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
    of_releases = {"inverted", "ends_in_answer", "repeated_candidate", "repeated_row"}
    of_releases |= {"known_second_answer", "prompt_in_train"}
    flags = {flag for part in flagged.values() for row in part for flag in row.flags}
    assert {*FLAGS} - of_releases == flags
