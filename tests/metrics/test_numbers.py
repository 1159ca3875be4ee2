"""Numbers and dates as answers write them."""

import pytest
from num2words import CONVERTER_CLASSES

from polyprobe.metrics.shared.names import read_date, spell_name
from polyprobe.metrics.shared.verdicts import Judge

CODES = ("en", "ru", "de", "ja", "tr", "hi", "es")
POOL = {
    "Q2": {code: ["1989"] for code in CODES},
    "Q3": {code: ["9"] for code in CODES},
    "Q4": {code: ["1981"] for code in CODES},
    "Q5": {"en": ["14 March 1879"], "ru": ["14 марта 1879"], "ja": ["1879-03-14"]},
}


@pytest.mark.parametrize(
    ("language", "answer", "entity"),
    [
        ("en", "In the year 1989.", "Q2"),
        ("en", "It was nineteen eighty-nine.", "Q2"),
        ("en", "About 1,989 people", "Q2"),
        ("de", "Neunzehnhundertneunundachtzig", "Q2"),
        ("de", "Neunzehnhunderteinundachtzig", "Q4"),  # three letters differ
        ("es", "En mil novecientos ochenta y nueve", "Q2"),
        ("ja", "千九百八十九年です", "Q2"),
        ("ja", "1989年です", "Q2"),
        ("ja", "百九", ""),  # not 九
        ("tr", "1989'da oldu", "Q2"),
        ("hi", "१९८९ में", "Q2"),
        ("en", "19891", ""),
        ("en", "1988", ""),
        ("en", "on March 14, 1879, in Ulm", "Q5"),
        ("en", "1879-03-14", "Q5"),
        ("ru", "14 марта 1879 года", "Q5"),
        ("ja", "1879年3月14日です", "Q5"),
        ("en", "14 May 1879", ""),
        ("en", "15 March 1879", ""),
    ],
)
def test_numbers_and_dates_are_found(language, answer, entity):
    assert Judge(POOL, language).read(answer, "", ["Q2"]).entity == entity


@pytest.mark.parametrize("language", [*CONVERTER_CLASSES, "sw", "zh-hant", "ceb", "xx", "a_b"])
def test_every_language_has_names_or_none(language):
    for text in ("0", "7", "1989", "21", "999999", "1000000", "123456789012345", "1879-03-14"):
        assert text not in spell_name(text, language)
    assert not spell_name("Ulm", language)
    assert read_date("1879-02-30", language) is None
