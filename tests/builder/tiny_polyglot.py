"""Rows of Polyglot or Not, and what their build knows."""

import io

import polars as pl
import pytest

from polyprobe.builder.facts import Facts
from polyprobe.builder.recipes import polyglot as recipe
from polyprobe.builder.sources import mpararel, polyglot
from tests.builder.tiny import place_archive
from tests.builder.tiny_facts import make_facts

# mParaRel has two Oslos as capitals, and Newshour in another relation only.
TUPLES = [
    ("P36", "Q419", "Peru", "Q2868", "lima"),
    ("P36", "Q20", "Norway", "Q585", "Oslo"),
    ("P36", "Q21", "Kingdom", "Q586", "Oslo"),
    ("P1", "Q7", "Newshour", "Q8", "BBC"),
]
COLUMNS = ["dataset_id", "stem", "true", "false", "relation", "subject", "object"]
ENGLISH = [
    ("rome_1", "The capital of Peru is", "Lima", "Quito <br> Bonn", "P36", "Peru", "Lima"),
    ("calinet_2", "Lima is the capital of", "Peru", "Chile", "P36", "Peru", "Lima"),
    ("calinet_3", "Newshour aired on", "BBC", "BBC", "P449", "Newshour", "BBC"),
    ("rome_4", "Only here is", "x", "y", "P449", "s", "x"),
]
GERMAN = [
    ("calinet_3", "Newshour auf <br> Newshour im", "BBC", "ARD", "P449", "Newshour", "BBC"),
    ("rome_1", "Perus Hauptstadt ist", "Lima", "Quito <br> Bonn", "P36", "Peru", "Lima"),
    ("calinet_2", "Hauptstadt Peru", "Peru", "Chile", "P36", "Peru", "Lima"),
]  # fmt: skip


def known() -> Facts:
    facts = [(relation, subject, thing) for relation, subject, _, thing, _ in TUPLES]
    return make_facts(facts, {"en": {t[i]: t[i + 1] for t in TUPLES for i in (1, 3)}}, {})


def to_parquet(rows) -> bytes:
    file = io.BytesIO()
    pl.DataFrame(rows, schema=COLUMNS, orient="row").write_parquet(file)
    return file.getvalue()


@pytest.fixture
def mirror(monkeypatch, tmp_path):
    def make(german=GERMAN):
        files = {"d/en-x.parquet": to_parquet(ENGLISH), "d/de-x.parquet": to_parquet(german)}
        paths = {"en": "d/en-x.parquet", "de": "d/de-x.parquet"}
        monkeypatch.setattr(polyglot, "LANGUAGES", ("de", "en"))
        monkeypatch.setattr(mpararel, "read_facts", lambda *_: known())
        recipe.read_english.cache_clear()
        return place_archive(monkeypatch, tmp_path, polyglot, files, PATHS=paths)

    yield make
    recipe.read_english.cache_clear()


# Rows by language; their sum is 303,156.
ROWS = {
    "bg": 20577, "ca": 18898, "cs": 9427, "da": 23365, "de": 16287, "en": 26267, "es": 18786,
    "fr": 18395, "hr": 7358, "hu": 4650, "it": 20448, "nl": 22590, "pl": 9484, "pt": 22974,
    "ro": 17568, "ru": 3289, "sl": 7873, "sr": 5426, "sv": 21576, "uk": 7918,
}  # fmt: skip
