"""Invisible characters, escaped here so that the table is readable."""

import pytest

from polyprobe.builder.facts.labels import INVISIBLE, find_invisible, normalise
from polyprobe.builder.sources.bmlama.files import read_published

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
