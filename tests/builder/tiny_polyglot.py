"""Rows of Polyglot or Not, and what their build knows."""

from polyprobe.builder.facts import Facts
from tests.builder.tiny_facts import make_facts

# mParaRel has two Oslos as capitals, and Newshour in another relation only.
TUPLES = [
    ("P36", "Q419", "Peru", "Q2868", "lima"),
    ("P36", "Q20", "Norway", "Q585", "Oslo"),
    ("P36", "Q21", "Kingdom", "Q586", "Oslo"),
    ("P1", "Q7", "Newshour", "Q8", "BBC"),
]


def known() -> Facts:
    facts = [(relation, subject, thing) for relation, subject, _, thing, _ in TUPLES]
    return make_facts(facts, {"en": {t[i]: t[i + 1] for t in TUPLES for i in (1, 3)}}, {})


# Rows by language; their sum is 303,156.
ROWS = {
    "bg": 20577, "ca": 18898, "cs": 9427, "da": 23365, "de": 16287, "en": 26267, "es": 18786,
    "fr": 18395, "hr": 7358, "hu": 4650, "it": 20448, "nl": 22590, "pl": 9484, "pt": 22974,
    "ro": 17568, "ru": 3289, "sl": 7873, "sr": 5426, "sv": 21576, "uk": 7918,
}  # fmt: skip
