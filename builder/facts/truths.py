"""The correct answers to a question, by the facts of all sources, their implications and wordings.

Sources do not list implied facts: who works in London works in England. Rows whose answer is in the
question, or that have many correct distractors, have a flag.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from itertools import chain, product
from typing import Any, NamedTuple

import polars as pl

from polyprobe.schema.columns import ANSWER_IN_SUBJECT, SECOND_ANSWERS, Row
from polyprobe.system.files import read_toml

from . import FACTS, Fact
from .labels import UNSPACED, find_script, fold

# Relations from a fact to others, groups of ids that are alike, and objects that are always correct
RULES = read_toml(__package__, "truths.toml")
SYMMETRIC = ("P190", "P47", "P530")  # twinned with, shares a border, diplomatic relation
INVERSE = {"P36": "P1376", "P1376": "P36", "P361": "P527", "P527": "P361"}
INVERSE |= zip(SYMMETRIC, SYMMETRIC, strict=True)
LOOSE = ("readers",)  # possibly arguable facts: nothing is inferred from them
PLACES = ("P131", "P17", "P30", "P276", "P361")  # from a place to its whole
UPWARD = dict.fromkeys(RULES["of_places"], PLACES) | RULES["upward"]
_FOLLOWED = frozenset(chain(*UPWARD.values()))
FROM_SUBJECT = ("P17", "P30", "P131", "P276")  # the subject's own wholes are correct too
_WITHOUT_SPACES = (*UNSPACED, "CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA")
SEVERAL = ("P530",)  # relations whose rows have many correct distractors: no source lists them

Objects = Mapping[tuple[str, str], Set[str]]  # {(relation, subject): objects}
Alike = Mapping[str, set[str]]


class Knowledge(NamedTuple):
    """The known facts, and what follows from them."""

    truths: Objects
    edges: Objects  # the wholes and superclasses of things

    def complete(self, answers: Iterable[str], questions: Collection[tuple[str, str]]) -> set[str]:
        """Return all correct answers: the given ones, known ones, and their implications."""
        # `questions` are (relation, subject) of each reading of the question's wording.
        right = set(answers).union(*(self.truths.get(question, ()) for question in questions))
        return right.union(*(find_implied(*question, right, self.edges) for question in questions))


class CorrectAnswers(NamedTuple):
    """Correct answers to each question, by facts of all sources and languages."""

    knowledge: Knowledge
    same_template: Alike  # relations
    same_sentence: Mapping[Fact, set[Fact]]
    homonyms: Alike  # entities with the same label

    def of(self, fact: Fact) -> set[str]:
        """Return all correct answers to the fact's question, also for homonyms of its subject."""
        relations = self.same_template.get(fact.relation, {fact.relation})
        subjects = self.homonyms.get(fact.subject_id, {fact.subject_id})
        objects = {same.object_id for same in self.same_sentence.get(fact, {fact})}
        return self.knowledge.complete(objects, list(product(relations, subjects)))


def find_alike(
    table: pl.DataFrame, text: str, thing: pl.Expr, make: Callable[[Any], Any] = str
) -> dict[Any, set[Any]]:
    """Return {thing: things with the same text in some language}, for texts of several things."""
    # Texts (the column `text`) are compared by `fold`; `make` turns a value of `thing` into a key.
    texts = table[text].unique()
    folded = pl.DataFrame({text: texts, "folded": [fold(member) for member in texts]})
    things = table.join(folded, on=text).group_by("language", "folded").agg(thing.alias("things"))
    alike: dict[Any, set[Any]] = defaultdict(set)
    for group in things.filter(pl.col("things").list.len() > 1)["things"].to_list():
        same = set(map(make, group))
        for member in same:
            alike[member] |= same
    return dict(alike)


def learn(facts: Mapping[str, pl.DataFrame]) -> Knowledge:
    """Return the knowledge in the sources' facts, {source: table of FACTS}."""
    truths, edges = defaultdict[tuple[str, str], set[str]](set), defaultdict(set)
    for name, table in facts.items():
        for relation, subject, answer in table.select(*FACTS).iter_rows():
            truths[relation, subject].add(answer)
            if relation in INVERSE:
                truths[INVERSE[relation], answer].add(subject)
            if relation in _FOLLOWED and name not in LOOSE:
                edges[relation, subject].add(answer)
    return Knowledge(dict(truths), dict(edges))


def find_implied(relation: str, subject: str, objects: Iterable[str], edges: Objects) -> set[str]:
    """Return the objects and all correct answers that follow from them."""
    start = set(objects)
    # Whatever contains the subject also answers where it is.
    if relation in FROM_SUBJECT and subject:
        start |= climb([subject], PLACES, edges) - {subject}
    right = climb(start, UPWARD.get(relation, ()), edges)
    # Some objects fit almost any subject, whatever the facts say.
    right.update(RULES["always"].get(relation, ()))
    return right.union(*(alike for alike in RULES["alike"] if not right.isdisjoint(alike)))


def climb(things: Iterable[str], relations: Collection[str], edges: Objects) -> set[str]:
    """Return the things and, transitively, their wholes and superclasses by the relations."""
    seen = pending = set(things)
    while pending:
        parents = [edges.get(key, ()) for key in product(relations, pending)]
        pending = set().union(*parents) - seen
        seen = seen | pending
    return seen


def flag_rows(rows: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
    """Return parallel rows with their flags, the same in every language."""
    # A row is flagged in all languages if it is in one: the rows without a flag are parallel.
    inside = {
        number
        for part in rows.values()
        for number, row in enumerate(part)
        if any(occurs(row.candidates[index], row.subject) for index in row.answers)
    }
    flags = [
        [ANSWER_IN_SUBJECT] * (number in inside) + [SECOND_ANSWERS] * (row.relation in SEVERAL)
        for number, row in enumerate(next(iter(rows.values())))
    ]
    return {
        language: [row._replace(flags=names) for row, names in zip(part, flags, strict=True)]
        for language, part in rows.items()
    }


def occurs(label: str, text: str) -> bool:
    """Return whether a text contains a label, compared by `fold`.

    >>> occurs("guinea", "Equatorial Guinea"), occurs("Oman", "Romania"), occurs("木", "木星")
    (True, False, True)
    """
    # At each end of the label, a letter, digit or mark of the text must not continue it, unless it
    # is in a script without spaces between words.
    text, label = fold(text), fold(label)
    if not label or label not in text:
        return False
    # A later occurrence may end at a word: `guinea` in `guineas of guinea`.
    spans = (place.span(1) for place in re.finditer(f"(?=({re.escape(label)}))", text))
    return any(
        _ends_word(text[:start][-1:], label[0]) and _ends_word(text[end:][:1], label[-1])
        for start, end in spans
    )


def _ends_word(outside: str, inside: str) -> bool:
    """Return whether a word may end between two neighbours; `outside` may be empty."""
    if not outside.isalnum() and not find_script(outside):
        return True
    return find_script(outside) in _WITHOUT_SPACES or find_script(inside) in _WITHOUT_SPACES
