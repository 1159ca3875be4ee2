"""Words that mix alphabets."""

import unicodedata

import polars as pl
import pytest

from polyprobe.builder.facts import labels as alphabets
from polyprobe.builder.facts.labels import unmix, unmix_column

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
    column = unmix_column(pl.DataFrame({"label": [text, "x", None]}), "label")
    assert column["label"].to_list() == [expected, "x", None]


@pytest.mark.parametrize("shape", alphabets._SHAPES)
def test_letters_of_one_shape_are_of_different_alphabets(shape):
    assert len({unicodedata.name(letter).split()[0] for letter in shape}) == len(shape)
