"""Render an annotated prompt with a subject and an object."""

import re
from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

from .entities import END, FEM, PL, X_MARK, Y_MARK, Agreement, PromptEntity, Traits
from .grammar import Alternatives, Article, Prompt, Slot, Text
from .inflection import CasedLabel, Inflector, capitalise
from .languages import PLAIN, RULES, load_inflector

KEPT = "labels left uninflected although a case is required"
GUESSED = "forms with a guessed gender"
SINGULAR = "singular forms used with a plural"
PLACES = "prepositions before places of unknown kind"
UNWRITTEN = "articles omitted: no rule generates them"

UNKNOWN = Traits()
MARKS = {"X": X_MARK, "Y": Y_MARK}
LABEL = re.compile(rf"{Y_MARK}([^{END}]*){END}")


class Rendering(NamedTuple):
    """A rendered sentence.

    `form` is the object's label, inflected, or without an article merged into the sentence. `lost`
    are the marks that could not be applied: KEPT, GUESSED, …
    """

    text: str
    form: str
    lost: tuple[str, ...]


class Renderer:
    """Renders the prompts of one language; entities are cached."""

    def __init__(self, language: str, inflector: Inflector | None = None) -> None:
        self.inflector = inflector or load_inflector(language)
        self.rules = RULES.get(language, PLAIN)
        self._entities: dict[tuple[str, Traits], PromptEntity] = {}

    def render(
        self,
        prompt: Prompt,
        subject: str,
        object_: str,
        subject_traits: Traits = UNKNOWN,
        object_traits: Traits = UNKNOWN,
    ) -> Rendering:
        """Return the sentence with `[Y]` and the object's form."""
        entities = {
            "X": self.describe(subject, subject_traits),
            "Y": self.describe(object_, object_traits),
        }
        lost: list[str] = []
        slots = {node.end: node for node in prompt if isinstance(node, Slot)}
        forms = {end: self.inflect(slot, entities[end], lost) for end, slot in slots.items()}
        draft = ""
        for piece in self.write_pieces(prompt, entities, slots, forms, lost):
            # No space after an elision, and no second one where an article is omitted.
            glued = draft.endswith(("'", " "))
            draft += piece.removeprefix(" ") if glued else piece
        for end, form in forms.items():
            draft = draft.replace(MARKS[end] + END, MARKS[end] + form + END)
        sentence = " ".join(self.rules.join(draft).split())
        slot = LABEL.search(sentence)
        text = LABEL.sub("[Y]", sentence).replace(X_MARK, "").replace(END, "")
        return Rendering(text, slot[1] if slot else object_, tuple(dict.fromkeys(lost)))

    def describe(self, label: str, traits: Traits) -> PromptEntity:
        """Return the label with its agreement: a person's sex, else the gender of the head."""
        key = (label, traits)
        if key not in self._entities:
            person = traits.sex or "human" in traits.kinds
            inflection = None if person else self.inflector.agree(label)
            agreement = inflection or self.rules.agree(label, traits)
            self._entities[key] = PromptEntity(label, traits, agreement)
        return self._entities[key]

    def inflect(self, slot: Slot, entity: PromptEntity, lost: list[str]) -> str:
        """Return the label in the slot's case, unchanged if the form is unknown."""
        case = "COP" if slot.copula else slot.case.upper()
        if case in ("", "NOM"):
            return entity.label
        gender, number, _ = entity.agreement
        request = CasedLabel(entity.label, case, gender, number, entity.traits.kinds)
        form = self.inflector.inflect(request)
        if form is None:
            lost.append(KEPT)
        return entity.label if form is None else form

    def write_pieces(
        self,
        prompt: Prompt,
        entities: dict[str, PromptEntity],
        slots: dict[str, Slot],
        forms: dict[str, str],
        lost: list[str],
    ) -> Iterator[str]:
        """Yield the text of each node; a slot yields its marks, since `forms` has the label.

        An article that merges with the label's own changes `forms`. The first word is capitalized.
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
                    adjacent = slots.get(end) in rest
                    article = self.write_article(
                        node, entities[end], case.upper(), forms if adjacent else {}, lost
                    )
                    yield capitalise(article) if position == 0 else article
                case Alternatives():
                    form = choose_form(node, entities, lost)
                    yield capitalise(form) if position == 0 else form

    def write_article(
        self, node: Article, entity: PromptEntity, case: str, forms: dict[str, str], lost: list[str]
    ) -> str:
        """Return the article before a label; put the label without its own article into `forms`.

        Without `forms` another word follows the article.
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


def choose_form(choice: Alternatives, entities: dict[str, PromptEntity], lost: list[str]) -> str:
    """Return the form whose conditions all hold; number takes precedence over gender.

    Without such a form return the first, as the authors do.
    """
    features = {
        (end, feature) for option in choice.options for end, feature, _ in option.conditions
    }
    if len({option.form for option in choice.options}) > 1:
        lost += find_guesses(features, entities)
    fitting = [
        (any(feature == "Number" for _, feature, _ in conditions), form)
        for form, conditions in choice.options
        if all(holds(*condition, entities[condition.end]) for condition in conditions)
    ]
    return max(fitting, key=itemgetter(0))[1] if fitting else choice.options[0].form


def holds(end: str, feature: str, value: str, entity: PromptEntity) -> bool:
    """Return whether a condition holds for its entity."""
    if feature == "Human":
        return (value == "YES") == ("human" in entity.traits.kinds)
    has = entity.agreement.gender if feature == "Gender" else entity.agreement.number
    return has == value


def find_guesses(
    features: set[tuple[str, str]], entities: dict[str, PromptEntity]
) -> Iterator[str]:
    """Yield the marks that a choice by these features cannot apply."""
    for end in sorted({end for end, feature in features if feature == "Gender"}):
        if not entities[end].agreement.sure:
            yield GUESSED
        if entities[end].agreement.number == PL and (end, "Number") not in features:
            yield SINGULAR
