"""Render an annotated prompt with a subject and an object."""

import re
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

from .entities import END, FEM, PL, X_MARK, Y_MARK, Agreement, PromptEntity, Traits
from .grammar import Alternatives, Article, Node, Prompt, Slot, Text
from .inflection import CasedLabel, Inflector, capitalise
from .languages import PLAIN, RULES, load_inflector

KEPT = "labels left uninflected although a case is required"
GUESSED = "forms with a guessed gender"
SINGULAR = "singular forms used with a plural"
PLACES = "prepositions before places of unknown kind"

UNKNOWN = Traits()
MARKS = {"X": X_MARK, "Y": Y_MARK}
LABEL = re.compile(rf"{Y_MARK}([^{END}]*){END}")


class Rendering(NamedTuple):
    """A rendered sentence."""

    text: str
    # The object's label, inflected, or without an article merged into the sentence.
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
        ends = {"X": (subject, subject_traits), "Y": (object_, object_traits)}
        entities = {end: self.describe(*of_end) for end, of_end in ends.items()}
        lost: list[str] = []
        slots = {node.end: node for node in prompt if isinstance(node, Slot)}
        forms = {end: self.inflect(slot, entities[end], lost) for end, slot in slots.items()}
        draft = ""
        for position, node in enumerate(prompt):
            match node:
                case Text(text):
                    piece = text
                case Slot(end):  # its mark: an article that follows may change the label
                    piece = MARKS[end] + END
                case Article():
                    rest = prompt[position + 1 : position + 3]
                    piece = self.write_article(node, entities[node.end], slots, rest, forms, lost)
                case Alternatives():
                    piece = choose_form(node, entities, lost)
            if position == 0 and not isinstance(node, Text):
                piece = capitalise(piece)
            # No space after an elision, and no second one where an article is omitted.
            draft += piece.removeprefix(" ") if draft.endswith(("'", " ")) else piece
        for end, form in forms.items():
            draft = draft.replace(MARKS[end] + END, MARKS[end] + form + END)
        sentence = " ".join(self.rules.join(draft).split())
        label = LABEL.search(sentence)
        text = LABEL.sub("[Y]", sentence).replace(X_MARK, "").replace(END, "")
        return Rendering(text, label[1] if label else object_, tuple(dict.fromkeys(lost)))

    def describe(self, label: str, traits: Traits) -> PromptEntity:
        """Return the label with its agreement: a person's sex, else the gender of the head."""
        key = (label, traits)
        if key not in self._entities:
            inflection = None if traits.is_person else self.inflector.agree(label)
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

    def write_article(
        self,
        node: Article,
        entity: PromptEntity,
        slots: dict[str, Slot],
        rest: Sequence[Node],
        forms: dict[str, str],
        lost: list[str],
    ) -> str:
        """Return the article before a label; put the label without its own article into `forms`."""
        slot = slots.get(node.end)
        case = node.case or (slot.case if slot else "")
        form = forms[node.end] if slot in rest else ""  # '' if another word follows the article
        if node.tag.upper() == FEM:
            entity = entity._replace(agreement=Agreement(FEM, entity.agreement.number))
        phrase = self.rules.write_article(node.name, form, entity, case.upper())
        if form:
            forms[node.end] = phrase.form
        if phrase.article and phrase.gendered and not entity.agreement.sure:
            lost.append(GUESSED)
        if not phrase.sure:
            lost.append(PLACES)
        return phrase.article


def choose_form(choice: Alternatives, entities: dict[str, PromptEntity], lost: list[str]) -> str:
    """Return the form whose conditions all hold; number takes precedence over gender."""
    features = {(end, name) for option in choice.options for end, name, _ in option.conditions}
    if len({option.form for option in choice.options}) > 1:
        for end in sorted(end for end, feature in features if feature == "Gender"):
            if not entities[end].agreement.sure:
                lost.append(GUESSED)
            if entities[end].agreement.number == PL and (end, "Number") not in features:
                lost.append(SINGULAR)
    values = {
        end: {"Gender": gender, "Number": number, "Human": "YES" if "human" in kinds else "NO"}
        for end, (_, (_, kinds), (gender, number, _)) in entities.items()
    }
    fitting = [
        (any(feature == "Number" for _, feature, _ in conditions), form)
        for form, conditions in choice.options
        if all(values[end][feature] == value for end, feature, value in conditions)
    ]
    # As the authors do, without such a form take the first.
    return max(fitting, key=itemgetter(0))[1] if fitting else choice.options[0].form
