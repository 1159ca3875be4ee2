"""A mParaRel of two relations in four languages, as released, with its peculiarities."""

import json
from pathlib import Path

import pytest

from polyprobe.builder.sources import mpararel
from tests.builder.tiny import place_archive

# (subject, its label, object, its label), as in the released files.
ROOT = "data/mpararel_reviewed"
TUPLES = {
    "en/P36": [("Q1", "Peru", "Q2", "Lima"), ("Q3", "Chad", "Q4", "N'Djamena")],
    "en/P30": [("Q1", "Peru", "Q5", "South America")],
    "fr/P36": [("Q1", "Pérou", "Q2", "Lima")],
    "fr/P30": [("Q3", "\xa0Tchad", "Q6", "Afrique")],  # a fact that English lacks
    "zh-hans/P36": [("Q1", "秘鲁", "Q2", "利马")],
    "zh-hant/P36": [("Q1", "秘魯", "Q2", "利馬"), ("Q3", "查德", "Q4", "恩加美納")],
}
PATTERNS = {
    "en/P36": ["the capital of [X] is [Y]", "[Y] is the capital of [X]"],
    "fr/P36": ["[ [X] ] a pour capitale [Y]", "(y], [X] [Y]", "[X] a pour capitale [Y]"],
    "fr/P30": ["[X] est\u200b en [Y]"],
    "zh-hans/P36": ["[X]的首都是[Y]"],
    "zh-hant/P36": ["[X]嘅首都係[Y]", "[Y]是[X]嘅首都"],
    "zh-hant/P30": ["[X]位於[Y]"],
}
REVIEWED = {"(y], [X] [Y]"}


def write_lines(records) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def release(folder: Path, monkeypatch, tuples=TUPLES, patterns=PATTERNS) -> Path:
    """Write the archive of a small release into a mirror folder, and return the folder."""
    keys = ("sub_uri", "sub_label", "obj_uri", "obj_label")
    files = {
        f"{ROOT}/tuples/{name}.jsonl": [
            {"lineid": number, **dict(zip(keys, row, strict=True))}
            for number, row in enumerate(rows)
        ]
        for name, rows in tuples.items()
    } | {
        f"{ROOT}/patterns/{name}.jsonl": [
            {"pattern": text, "checked-by-human": text in REVIEWED} for text in texts
        ]
        for name, texts in patterns.items()
    }
    contents = {path: write_lines(records) for path, records in files.items()}
    return place_archive(monkeypatch, folder, mpararel, contents)


@pytest.fixture
def mirror(monkeypatch, tmp_path):
    monkeypatch.setattr(mpararel, "LANGUAGES", ("en", "fr", "zh", "zh-hans", "zh-hant"))
    return release(tmp_path, monkeypatch)


# Reviewed lines and all lines of the patterns.
REVIEWED_LINES = {
    **{"bg": (161, 306), "da": (130, 302), "de": (290, 413), "el": (339, 525)},
    **{"es": (197, 364), "fr": (239, 431), "he": (157, 354), "it": (169, 332)},
    **{"pl": (163, 318), "pt": (176, 336), "zh-hans": (176, 334)},
}
