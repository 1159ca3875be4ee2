"""Small tables of facts, handwritten or random, and a source for them."""

import sys
from types import SimpleNamespace

import polars as pl

from polyprobe.builder.facts import FACTS, LABELS, PROMPTS, TEMPLATES, Facts
from polyprobe.builder.sources import FACT_SOURCES, TRUTH_SOURCES
from polyprobe.system.download import Repository


def make_facts(facts, labels, templates, prompts=()) -> Facts:
    """`labels` {language: {id: label}}, `templates` {language: {relation: template}}."""
    named = [(lang, i, text) for lang, part in labels.items() for i, text in part.items()]
    told = [
        (lang, relation, f"tiny:{relation}:0", text)
        for lang, part in templates.items()
        for relation, text in part.items()
    ]
    return Facts(
        facts=pl.DataFrame(sorted(facts), FACTS, orient="row"),
        labels=pl.DataFrame(sorted(named), LABELS, orient="row"),
        templates=pl.DataFrame(sorted(told), TEMPLATES, orient="row"),
        prompts=pl.DataFrame(sorted(prompts), PROMPTS, orient="row"),
        repairs={},
    )


# Three capitals. Of Athens, Greece and Athens, Georgia no language but Greek has two names; the
# county has no Greek name and is thus no row in it.
CAPITALS = make_facts(
    facts=[("P36", "Q1", "Q10"), ("P36", "Q2", "Q20"), ("P36", "Q3", "Q30"), ("P36", "Q4", "Q40")],
    labels={
        "en": {
            **{"Q1": "Greece", "Q2": "Peru", "Q3": "Clarke County", "Q4": "Chad"},
            **{"Q10": "Athens", "Q20": "Lima", "Q30": "ATHENS", "Q40": "N'Djamena"},
        },
        "el": {
            **{"Q1": "Ελλάδα", "Q2": "Περού", "Q4": "Τσαντ"},
            **{"Q10": "Αθήνα", "Q20": "Λίμα", "Q30": "Άθενς", "Q40": "Εντζαμένα"},
        },
        "fr": {"Q1": "Grèce", "Q2": "Pérou", "Q10": "Athènes", "Q20": "Lima"},
    },
    templates={
        "en": {"P36": "The capital of [X] is [Y]."},
        "el": {"P36": "[X]: πρωτεύουσα [Y]."},
        "fr": {"P36": "[X] : capitale [Y]."},
    },
)


def serve(monkeypatch, name: str, known: Facts) -> None:
    """Register a source of facts by name."""
    module = SimpleNamespace(
        LANGUAGES=tuple(sorted(known.labels["language"].unique())),
        LICENCE=f"licence of {name}",
        REPOSITORY=Repository(f"someone/{name}", "0123456789abcdef", {}),
        read_facts=lambda mirror, languages=None: known,
        read_templates=lambda mirror: known.templates.rows(),
        read_truths=lambda mirror: known.facts,
    )
    for other in list(TRUTH_SOURCES):  # the real ones are not read
        monkeypatch.delitem(TRUTH_SOURCES, other)
    monkeypatch.setitem(FACT_SOURCES, name, f"tiny_{name}")
    monkeypatch.setitem(sys.modules, f"tiny_{name}", module)
