"""Entities and articles in a prompt, shared by the rules of all languages."""

from typing import NamedTuple

from .gender import Agreement, Traits

# Private characters around labels in a sentence before `Rules.join`: before X,
# before Y, after both.
X_MARK, Y_MARK, END = "\ue000", "\ue001", "\ue002"
MARK = f"[{X_MARK}{Y_MARK}]"


class PromptEntity(NamedTuple):
    """A label, the entity's traits, and its gender and number."""

    label: str
    traits: Traits
    agreement: Agreement


class Phrase(NamedTuple):
    """The words before a label, and the label without an article merged into them.

    Attributes:
        sure: whether a rule determines the preposition.
        gendered: whether another gender has another form.
    """

    article: str
    form: str
    sure: bool = True
    gendered: bool = True
