"""The grammar of X-FACTR's annotated prompts: parse them into a tree and write it back.

In square brackets, X or Y:

- slot: `X`, `X.CASE` (the label in that case), `Y;be` (Turkish: with the copula's ending);
- article: `NAME;X`, `NAME.CASE;X`, `NAME;X.TAG`, `NAME;X-Gender`: the form that fits the label;
- choice: `form;COND|form;COND|…`, COND `X-Gender=…` or `X-Number=…`: the form that fits, in
  Bengali also `human: form ; non-human: form` for X.

Everything else is text.
"""

import re
from typing import NamedTuple, TypeAlias

# The prompts' names of cases, in capitals; UniMorph's except INST.
CASES = frozenset(
    {"NOM", "GEN", "DAT", "ACC", "INS", "ESS", "LOC", "ABL", "INST", "IN+ESS", "ON+ESS", "IN+ABL"}
)
VALUES = {"Gender": ("MASC", "FEM", "NEUT"), "Number": ("SG", "PL"), "Human": ("YES", "NO")}
GENDER = "Gender"

PIECE = re.compile(r"\[([^][]*)\]|[^][]+|[][]")  # a bracket, a text, an unmatched bracket
CASE = f"(?ai:{'|'.join(map(re.escape, sorted(CASES)))})"
SLOT = re.compile(rf"([XY])(?:\.({CASE})|(;be))?")
ARTICLE = re.compile(rf"([A-Z]+(?:-à)?)(?:\.({CASE}))?;([XY])(?:\.([A-Za-z]+)|-(Gender))?")
CONDITION = re.compile(r"([XY])-(Gender|Number)=([A-Z]+)")
BY_KIND = re.compile(r"human: ([^][;|]+) ; non-human: ([^][;|]+)")


class Text(NamedTuple):
    """Fixed words."""

    text: str


class Slot(NamedTuple):
    """The place of X's or Y's label; `case` as spelled in the prompt, '' for none."""

    end: str
    case: str = ""
    copula: bool = False


class Article(NamedTuple):
    """An article, or a preposition with an article, that agrees with X's or Y's label."""

    name: str
    end: str
    case: str = ""  # '' for the label's
    tag: str = ""  # a fixed gender (`Fem`), or `Gender` for agreement in gender only


class Condition(NamedTuple):
    """A condition: the `feature` (key of VALUES) of X or Y has the value."""

    end: str
    feature: str
    value: str


class Option(NamedTuple):
    """A form and all its conditions."""

    form: str
    conditions: tuple[Condition, ...]


class Alternatives(NamedTuple):
    """Alternative forms."""

    options: tuple[Option, ...]


Node: TypeAlias = Text | Slot | Article | Alternatives
Prompt: TypeAlias = tuple[Node, ...]


def parse_prompt(prompt: str, language: str = "", relation: str = "") -> Prompt:
    """Return the prompt's tree; ValueError for an invalid bracket.

    >>> parse_prompt("[DEF;X] [X.Nom] =")[0]
    Article(name='DEF', end='X', case='', tag='')
    """
    nodes: list[Node] = []
    for match in PIECE.finditer(prompt):
        node: Node | None = None
        if match[1] is not None:
            node = _parse_mark(match[1])
        elif match[0] not in "[]":
            node = Text(match[0])
        if node is None:
            rest = prompt[match.start() :]
            raise ValueError(f"prompt {relation} in {language}: cannot read {rest!r}")
        nodes.append(node)
    return tuple(nodes)


def _parse_mark(mark: str) -> Slot | Article | Alternatives | None:
    """Return the node of a bracket's content, None if it is invalid."""
    if match := SLOT.fullmatch(mark):
        return Slot(match[1], match[2] or "", match[3] is not None)
    if (match := ARTICLE.fullmatch(mark)) and match[4] != GENDER:
        return Article(match[1], match[3], match[2] or "", match[4] or match[5] or "")
    if match := BY_KIND.fullmatch(mark):
        conditions = [(Condition("X", "Human", value),) for value in VALUES["Human"]]
        return Alternatives(tuple(map(Option, match.groups(), conditions)))
    options = []
    for option in mark.split("|"):
        form, *texts = option.split(";")
        matches = filter(None, map(CONDITION.fullmatch, texts))
        fitting = [Condition(*match.groups()) for match in matches if match[3] in VALUES[match[2]]]
        if not fitting or len(fitting) != len(texts):
            return None
        options.append(Option(form, tuple(fitting)))
    return Alternatives(tuple(options))
