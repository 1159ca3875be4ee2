"""Writing an annotated prompt out with a subject and an object, as its marks ask."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from .entities import END, X_MARK, Y_MARK, Entity
from .gender import FEM, PL, Agreement, Traits
from .grammar import Article, Choice, Option, Prompt, Slot, Text
from .inflection import load_inflector
from .inflector import CasedLabel, Inflector
from .rules import PLAIN, RULES

KEPT = "labels that stay as they are where a case is asked for"
GUESSED = "forms by a gender that nothing tells"
SINGULAR = "forms of the singular with a plural"
PLACES = "prepositions before places of unknown kind"
UNWRITTEN = "articles left out, since no rule writes them"

UNKNOWN = Traits()
MARKS = {"X": X_MARK, "Y": Y_MARK}
LABEL = re.compile(rf"{Y_MARK}([^{END}]*){END}")


class Rendering(NamedTuple):
    """A sentence with `[Y]` or the object in its place, the object's form, what was not honoured.

    `form` is the label inflected, or without the article that went into the sentence.
    """

    text: str
    form: str
    lost: tuple[str, ...]


class Renderer:
    """Renders the prompts of one language; what it has once looked up it keeps."""

    def __init__(self, language: str, inflector: Inflector | None = None) -> None:
        self.inflector = inflector or load_inflector(language)
        self.rules = RULES.get(language, PLAIN)
        self._entities: dict[tuple[str, Traits], Entity] = {}

    def render(
        self,
        prompt: Prompt,
        subject: str,
        object_: str,
        subject_traits: Traits = UNKNOWN,
        object_traits: Traits = UNKNOWN,
        fill: bool = False,
    ) -> Rendering:
        """Return the sentence, with the object in it if `fill`, else with `[Y]` in its place."""
        entities = {
            "X": self.describe(subject, subject_traits),
            "Y": self.describe(object_, object_traits),
        }
        lost: list[str] = []
        slots = {node.end: node for node in prompt if isinstance(node, Slot)}
        forms = {end: self.inflect(slot, entities[end], lost) for end, slot in slots.items()}
        marked = ""
        for piece in self.write_pieces(prompt, entities, slots, forms, lost):
            glued = marked.endswith(("'", " "))
            marked += piece.removeprefix(" ") if glued else piece
        joined = " ".join(self.rules.join(mark_labels(marked, forms)).split())
        slot = LABEL.search(joined)
        text = LABEL.sub(r"\1" if fill else "[Y]", joined).replace(X_MARK, "").replace(END, "")
        return Rendering(text, slot[1] if slot else object_, tuple(dict.fromkeys(lost)))

    def describe(self, label: str, traits: Traits) -> Entity:
        """Return the label with what agrees with it: a person's sex, else the head's gender."""
        key = (label, traits)
        if key not in self._entities:
            known = None
            if not traits.sex and "human" not in traits.kinds:
                known = self.inflector.agree(label)
            agreement = known or self.rules.agree(label, traits)
            self._entities[key] = Entity(label, traits, agreement)
        return self._entities[key]

    def inflect(self, slot: Slot, entity: Entity, lost: list[str]) -> str:
        """Return the label in the slot's case; as it is where that is not known."""
        case = "COP" if slot.copula else slot.case.upper()
        if case in ("", "NOM"):
            return entity.label
        gender, number, _ = entity.agreement
        asked = CasedLabel(entity.label, case, gender, number, entity.traits.kinds)
        form = self.inflector.inflect(asked)
        if form is None:
            lost.append(KEPT)
        return entity.label if form is None else form

    def write_pieces(
        self,
        prompt: Prompt,
        entities: dict[str, Entity],
        slots: dict[str, Slot],
        forms: dict[str, str],
        lost: list[str],
    ) -> Iterator[str]:
        """Yield what stands for each node; a slot's mark for its label, which `forms` has.

        An article that takes the label's own changes `forms`. One that begins the sentence has a
        capital.
        """
        for position, node in enumerate(prompt):
            match node:
                case Text(text):
                    yield text
                case Slot(end):
                    yield MARKS[end] + END
                case Article(_, end):
                    case = node.case or (slots[end].case if end in slots else "")
                    rest = prompt[position + 1 : position + 3]
                    beside = slots.get(end) in rest
                    article = self.write_article(
                        node, entities[end], case.upper(), forms if beside else {}, lost
                    )
                    yield capitalise(article) if position == 0 else article
                case Choice():
                    form = choose(node, entities, lost)
                    yield capitalise(form) if position == 0 else form

    def write_article(
        self, node: Article, entity: Entity, case: str, forms: dict[str, str], lost: list[str]
    ) -> str:
        """Return the article before a label, and put the label without its own into `forms`.

        Without `forms` another word stands behind the article.
        """
        if node.tag.upper() == FEM:
            entity = entity._replace(agreement=Agreement(FEM, entity.agreement.number))
        form = forms.get(node.end, "")
        phrase = self.rules.write_article(node.name, form, entity, case)
        if phrase is None:
            lost.append(UNWRITTEN)
            return ""
        if form:
            forms[node.end] = phrase.form
        if phrase.article and phrase.gendered and not entity.agreement.sure:
            lost.append(GUESSED)
        if not phrase.sure:
            lost.append(PLACES)
        return phrase.article


def mark_labels(text: str, forms: dict[str, str]) -> str:
    """Return the text with the labels between their marks."""
    for end, form in forms.items():
        text = text.replace(MARKS[end] + END, MARKS[end] + form + END)
    return text


def capitalise(text: str) -> str:
    """Return the text with a capital first letter."""
    return text[:1].upper() + text[1:]


def choose(choice: Choice, entities: dict[str, Entity], lost: list[str]) -> str:
    """Return the form all of whose conditions hold, one by number before one by gender alone.

    Where none holds it is the first, as with the authors.
    """
    fitting = [
        option
        for option in choice.options
        if all(holds(*condition, entities[condition.end]) for condition in option.conditions)
    ]
    features = {
        (condition.end, condition.feature)
        for option in choice.options
        for condition in option.conditions
    }
    if len({option.form for option in choice.options}) > 1:
        lost += judge(features, entities)
    return max(fitting, key=is_by_number).form if fitting else choice.options[0].form


def is_by_number(option: Option) -> bool:
    """Tell whether an option names a number."""
    return any(condition.feature == "Number" for condition in option.conditions)


def holds(end: str, feature: str, value: str, entity: Entity) -> bool:
    """Tell whether a condition holds for its entity."""
    if feature == "Human":
        return (value == "YES") == ("human" in entity.traits.kinds)
    has = entity.agreement.gender if feature == "Gender" else entity.agreement.number
    return has == value


def judge(features: set[tuple[str, str]], entities: dict[str, Entity]) -> Iterator[str]:
    """Yield what a choice by these features cannot honour."""
    for end in sorted({end for end, feature in features if feature == "Gender"}):
        if not entities[end].agreement.sure:
            yield GUESSED
        if entities[end].agreement.number == PL and (end, "Number") not in features:
            yield SINGULAR
