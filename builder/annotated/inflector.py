"""The interface of inflection, and inflection by endings."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import NamedTuple

from .gender import Agreement


class CasedLabel(NamedTuple):
    """A label and the case to put it in.

    Attributes:
        case: one of `grammar.CASES`, or COP for the copula of Turkish.
        gender: MASC, FEM or NEUT, None if unknown.
        number: SG or PL, None if unknown.
        kinds: kinds of the entity, keys of `gender.KINDS`.
    """

    label: str
    case: str
    gender: str | None = None
    number: str | None = None
    kinds: Collection[str] = frozenset()


class Inflector(ABC):
    """Inflects labels. `name` describes the source of the forms on cards."""

    name: str

    @abstractmethod
    def inflect(self, asked: CasedLabel) -> str | None:
        """Return the label in its case, None if the form is unknown."""

    def agree(self, label: str) -> Agreement | None:
        """Return the gender and number of the label's head, None if they are unknown."""
        return None


class ByRule(Inflector):
    """Adds endings by a rule that ignores gender and number; `stops` are those of `split_tail`."""

    stops: tuple[str, ...] = (" (",)

    def __init__(self, language: str) -> None:
        pass

    def inflect(self, asked: CasedLabel) -> str | None:
        """Return the label with its head in the case; the nominative is the label."""
        head, tail = split_tail(asked.label, self.stops)
        form = head if asked.case == "NOM" else self.decline(head, asked.case, asked.kinds)
        return None if form is None else form + tail

    @abstractmethod
    def decline(self, head: str, case: str, kinds: Collection[str]) -> str | None:
        """Return a head in a case other than the nominative, None if the form is unknown."""


def split_tail(label: str, stops: tuple[str, ...] = (" (",)) -> tuple[str, str]:
    """Return the head of a label, and its rest from the first stop on, such as a parenthesis.

    >>> split_tail("Tromsø (city)")
    ('Tromsø', ' (city)')
    """
    ends = [end for end in map(label.find, stops) if end > 0]
    end = min(ends, default=len(label))
    return label[:end], label[end:]


def keep_capitals(form: str, word: str) -> str:
    """Return the form with the capitals of each part of the word between hyphens."""
    if word.isupper() and len(word) > 1:
        return form.upper()
    forms, words = form.split("-"), word.split("-")
    if len(forms) != len(words):
        return form[:1].upper() + form[1:] if word[:1].isupper() else form
    pairs = zip(forms, words, strict=True)
    return "-".join(new[:1].upper() + new[1:] if old[:1].isupper() else new for new, old in pairs)
