"""Damaged labels in the released files: cut at a comma, or vandalised in Wikidata."""

from collections.abc import Mapping

from polyprobe.builder.facts.labels import clean

# Relations whose answers are places. A location may follow a comma: `Providence, Rhode Island`.
# fmt: off
OF_PLACES = frozenset((
    "P17", "P19", "P20", "P27", "P30", "P36", "P47", "P131", "P138", "P159", "P190", "P276", "P495",
    "P530", "P740", "P937", "P1001", "P1376",
))
# fmt: on
# Wrong English labels: Scientology, Airbus, Dubai.
WRONG = frozenset((("en", "Q131036"), ("en", "Q67"), ("en", "Q613")))

Labels = Mapping[tuple[str, str], str]


def restore(relation: str, name: str, labels: Mapping[str, str], spelled: Labels) -> list[str]:
    """Return an entity's labels, with mParaRel's in place of damaged ones.

    Args:
        relation: the relation of the rows with these labels.
        name: the entity's Wikidata id.
        labels: {language: published label}.
        spelled: {(language, id): label in mParaRel}.
    """
    restored = []
    for language, label in labels.items():
        whole = clean(spelled.get((language, name), label), language)
        damaged = is_cut(label, whole, relation) or (language, name) in WRONG
        restored.append(whole if damaged else label)
    return restored


def is_cut(label: str, whole: str, relation: str) -> bool:
    """Return whether a label is the whole one, cut at a comma that is part of the name.

    >>> is_cut("Dallas (seat of Dallas County", "Dallas (seat of Dallas County, Texas)", "P190")
    True
    >>> is_cut("Providence", "Providence, Rhode Island", "P36")
    False
    """
    if not whole.startswith(f"{label},"):
        return False
    return relation not in OF_PLACES or label.count("(") != label.count(")")
