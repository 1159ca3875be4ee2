"""The interface of inflection."""

from abc import ABC, abstractmethod
from collections.abc import Collection

from .gender import Agreement


class Inflector(ABC):
    """Gives labels the form that a case asks for.

    `name` tells on cards what stands behind it.
    """

    name: str

    @abstractmethod
    def inflect(
        self,
        label: str,
        case: str,
        gender: str | None = None,
        number: str | None = None,
        kinds: Collection[str] = (),
    ) -> str | None:
        """Return the label in a case of `grammar.CASES`, None where it is not known.

        `gender` (MASC, FEM, NEUT) and `number` (SG, PL) are the entity's where they are known,
        `kinds` what it is (`gender.KINDS`). The copula of Turkish is the case COP.
        """

    def agree(self, label: str) -> Agreement | None:
        """Return the gender and number of the label's head, None where it is not known."""
        return None


class ByRule(Inflector):
    """Gives labels an ending that neither gender nor number changes, by a rule of the language's.

    `stops` are what `split_tail` splits at.
    """

    stops: tuple[str, ...] = (" (",)

    def __init__(self, language: str) -> None:
        pass

    def inflect(
        self,
        label: str,
        case: str,
        gender: str | None = None,
        number: str | None = None,
        kinds: Collection[str] = (),
    ) -> str | None:
        """Return the label with its head in the case; the nominative is the label."""
        head, tail = split_tail(label, self.stops)
        form = head if case == "NOM" else self.decline(head, case, kinds)
        return None if form is None else form + tail

    @abstractmethod
    def decline(self, head: str, case: str, kinds: Collection[str]) -> str | None:
        """Return a head in a case other than the nominative, None where it is not known."""


def split_tail(label: str, stops: tuple[str, ...] = (" (",)) -> tuple[str, str]:
    """Return what inflects and what stays: a parenthesis, or what follows another stop.

    >>> split_tail("Tromsø (city)")
    ('Tromsø', ' (city)')
    """
    ends = [end for end in map(label.find, stops) if end > 0]
    end = min(ends, default=len(label))
    return label[:end], label[end:]


def keep_capitals(form: str, word: str) -> str:
    """Return the form with the capitals of the word: of each of its parts between hyphens."""
    if word.isupper() and len(word) > 1:
        return form.upper()
    forms, words = form.split("-"), word.split("-")
    if len(forms) != len(words):
        return form[:1].upper() + form[1:] if word[:1].isupper() else form
    pairs = zip(forms, words, strict=True)
    return "-".join(new[:1].upper() + new[1:] if old[:1].isupper() else new for new, old in pairs)
