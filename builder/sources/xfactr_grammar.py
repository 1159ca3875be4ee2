"""The annotated prompts of X-FACTR, reduced to templates with a plain `[X]` and `[Y]`.

Its grammar, in square brackets (X stands for Y too):

- slot: `X`, `X.CASE` (inflect the label), `Y;be` (Turkish: add the copula's ending);
- article: `NAME;X`, `NAME.CASE;X`, `NAME;X.TAG` or `ART;X-Gender`, the form that fits the label;
- choice: `form;COND|form;COND|…`, COND `X-Gender=…` or `X-Number=…`, the form that fits.

A reduction may lose case, article, gender and number, and the copula that Turkish may leave out.
Turkish, Hungarian, Bengali and Marathi say with a case what others say with a preposition: what
these templates lose, they are counted apart, is the word between subject and object.
What would lose more stays in its brackets, so that the template is seen to be none: the French
choice between en, au, aux and à before a place, the Bengali one between persons and things.
"""

import re
from typing import NamedTuple

CASES = "case marks dropped"
LOCAL_CASES = "case marks dropped that do the work of a preposition"
ARTICLES = "articles dropped"
PREPOSITIONS = "prepositions taken without their article"
GENDERS = "first of the forms by gender taken"
NUMBERS = "first of the forms by number taken"
COPULAS = "copula endings dropped"

BRACKET = re.compile(r"\[([^][]*)\]( ?)")
SLOT = re.compile(r"([XY])(\.[A-Za-z+]+|;be)?")
ARTICLE = re.compile(r"([A-Z]+(?:-à)?(?:\.[A-Za-z]+)?);[XY](?:\.[A-Za-z]+|-Gender)?")
# In languages without prepositions: in, on, from, to, with.
LOCAL = re.compile(r"\.(LOC|ABL|DAT|INST|.+\+.+)", re.IGNORECASE)
WITHOUT_PREPOSITIONS = ("bn", "hu", "mr", "tr")
CONDITION = re.compile(r"[XY]-(Gender|Number)=[A-Z]+")
# What stands for an article of any form; X-FACTR itself uses the French `de` and `à` before names.
# DEF.Gen is the Greek possessive after its noun, here the masculine one.
BARE = {
    "el": {"DEF": "", "INDEF": "", "PREPDEF": "σε", "DEF.Gen": "του"},
    "es": {"DEF": "", "ART": ""},
    "fr": {"ARTDEF": "", "ARTIND": "", "PREPDEF": "de", "PREPDEF-à": "à"},
}


class Reduction(NamedTuple):
    """A template, and what it lost, a name for each mark."""

    template: str
    lost: list[str]


def reduce_prompt(prompt: str, language: str) -> Reduction:
    """Return the prompt without its marks; brackets that cannot be reduced stay.

    >>> reduce_prompt("[DEF;X] [X.Nom] [ήταν;X-Number=SG|ήταν;X-Number=PL] [Y] .", "el").template
    '[X] ήταν [Y] .'
    """
    lost: list[str] = []

    def replace(match: re.Match[str]) -> str:
        text, reason = reduce_mark(match[1], language)
        if reason:
            lost.append(reason)
        return text + match[2] if text else ""

    return Reduction(BRACKET.sub(replace, prompt), lost)


def reduce_mark(mark: str, language: str) -> tuple[str, str]:
    """Return what stands for the content of a bracket, and what that loses ("" for nothing)."""
    slot = SLOT.fullmatch(mark)
    if slot:
        return f"[{slot[1]}]", name_ending(slot[2] or "", language)
    article = ARTICLE.fullmatch(mark)
    if article and article[1] in BARE.get(language, {}):
        form = BARE[language][article[1]]
        return form, PREPOSITIONS if form and article[1] != "DEF.Gen" else ARTICLES
    return reduce_choice(mark) or (f"[{mark}]", "")


def name_ending(ending: str, language: str) -> str:
    """Return what is lost with an ending like `.LOC` or `;be`, "" if there is none."""
    if LOCAL.fullmatch(ending) and language in WITHOUT_PREPOSITIONS:
        return LOCAL_CASES
    return {"": "", ";be": COPULAS}.get(ending, CASES)


def reduce_choice(mark: str) -> tuple[str, str] | None:
    """Return the first form of a choice and what that loses, None if the mark is no choice."""
    options = [option.split(";") for option in mark.split("|")]
    conditions = [CONDITION.fullmatch(condition) for _, *given in options for condition in given]
    if not conditions or None in conditions:
        return None
    [[form, *_], *_] = options
    by_gender = any(found and found[1] == "Gender" for found in conditions)
    return form, GENDERS if by_gender else NUMBERS


def is_template(text: str) -> bool:
    """Return whether `[X]` and `[Y]` stand in the text once each, and no further bracket."""
    return sorted(re.findall(r"\[[XY]\]|[][]", text)) == ["[X]", "[Y]"]
