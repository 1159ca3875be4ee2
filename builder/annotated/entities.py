"""An entity as a prompt needs it, and what stands before it; shared by the languages' rules."""

from typing import NamedTuple

from .gender import Agreement, Traits

# Private characters around the labels in a sentence that is not yet joined: before X's, before
# Y's, behind either.
X_MARK, Y_MARK, END = "\ue000", "\ue001", "\ue002"
MARK = f"[{X_MARK}{Y_MARK}]"


class PromptEntity(NamedTuple):
    """A label, what is known of the entity, and what agrees with it."""

    label: str
    traits: Traits
    agreement: Agreement


class Phrase(NamedTuple):
    """What stands before a label, and the label, without an article that went into it.

    `sure` where a rule tells the preposition; `gendered` where another gender had another form.
    """

    article: str
    form: str
    sure: bool = True
    gendered: bool = True
