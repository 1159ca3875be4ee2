"""The annotated prompts of X-FACTR, reduced to templates with a plain `[X]` and `[Y]`.

The marks are explained in `annotated.grammar`, which parses them. A reduction may lose case,
article, gender and number, and the optional copula of Turkish. In Turkish, Hungarian, Bengali and
Marathi some cases have the function of a preposition; such losses are counted separately. Marks
whose loss would change more stay in brackets, so that the template is invalid: the French choice of
en, au, aux and à before a place, and the Bengali choice between persons and things.
"""

import re
from typing import NamedTuple

from polyprobe.builder.annotated.grammar import (
    Article,
    Choice,
    Node,
    Slot,
    Text,
    parse_prompt,
    write_node,
)

CASES = "case marks dropped"
LOCAL_CASES = "case marks dropped that do the work of a preposition"
ARTICLES = "articles dropped"
PREPOSITIONS = "prepositions taken without their article"
GENDERS = "first of the forms by gender taken"
NUMBERS = "first of the forms by number taken"
COPULAS = "copula endings dropped"

# In languages without prepositions: in, on, from, to, with.
LOCAL = re.compile(r"LOC|ABL|DAT|INST|.+\+.+", re.IGNORECASE)
WITHOUT_PREPOSITIONS = ("bn", "hu", "mr", "tr")
# The replacement of an article of any form. X-FACTR itself uses the French `de` and `à` before
# names. DEF.Gen is the Greek possessive after its noun, here in the masculine.
BARE = {
    "el": {"DEF": "", "INDEF": "", "PREPDEF": "σε", "DEF.Gen": "του"},
    "es": {"DEF": "", "ART": ""},
    "fr": {"ARTDEF": "", "ARTIND": "", "PREPDEF": "de", "PREPDEF-à": "à"},
}


class Reduction(NamedTuple):
    """A template, and the name of the loss for each mark with one."""

    template: str
    lost: list[str]


def reduce_prompt(prompt: str, language: str, relation: str = "") -> Reduction:
    """Return the prompt without its marks; marks that cannot be reduced stay in brackets.

    The space after a mark without a replacement is removed.

    >>> reduce_prompt("[DEF;X] [X.Nom] [ήταν;X-Number=SG|ήταν;X-Number=PL] [Y] .", "el").template
    '[X] ήταν [Y] .'
    """
    lost: list[str] = []
    template = ""
    dropped = False
    for node in parse_prompt(prompt, language, relation):
        text, reason = reduce_node(node, language)
        if reason:
            lost.append(reason)
        template += text.removeprefix(" ") if dropped and isinstance(node, Text) else text
        dropped = not text
    return Reduction(template, lost)


def reduce_node(node: Node, language: str) -> tuple[str, str]:
    """Return the text that replaces a node, and the name of the loss ("" if there is none)."""
    match node:
        case Text(text):
            return text, ""
        case Slot(end):
            return f"[{end}]", name_ending(node, language)
        case Article():
            return reduce_article(node, language)
        case Choice():
            return reduce_choice(node)


def reduce_article(article: Article, language: str) -> tuple[str, str]:
    """Return the replacement of an article by BARE and the loss; without one, keep the mark."""
    name = f"{article.name}.{article.case}" if article.case else article.name
    if name not in BARE.get(language, {}):
        return write_node(article), ""
    form = BARE[language][name]
    return form, PREPOSITIONS if form and not article.case else ARTICLES


def name_ending(slot: Slot, language: str) -> str:
    """Return the name of the loss of a slot's case or copula, "" if it has neither."""
    if LOCAL.fullmatch(slot.case) and language in WITHOUT_PREPOSITIONS:
        return LOCAL_CASES
    if slot.copula:
        return COPULAS
    return CASES if slot.case else ""


def reduce_choice(choice: Choice) -> tuple[str, str]:
    """Return the first form of a choice and the loss; a choice by `Human` stays in brackets."""
    features = {condition.feature for option in choice.options for condition in option.conditions}
    if "Human" in features:
        return write_node(choice), ""
    return choice.options[0].form, GENDERS if "Gender" in features else NUMBERS
