"""Inflecting labels: one interface, and what stands behind it in each language."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from pathlib import Path

from .gender import Agreement

# language: the module whose `Inflection` knows its cases
INFLECTIONS = {
    "bn": "inflection_bn",
    "el": "inflection_el",
    "hu": "inflection_hu",
    "mr": "inflection_mr",
    "ru": "inflection_slavic",
    "tr": "inflection_tr",
    "uk": "inflection_slavic",
}


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


class Chain(Inflector):
    """Asks several inflectors in turn, each label and case once."""

    def __init__(self, inflectors: Sequence[Inflector]) -> None:
        self.inflectors = inflectors
        self.name = ", then ".join(inflector.name for inflector in inflectors) or "none"
        self._known: dict[tuple[object, ...], str | None] = {}
        self._agreements: dict[str, Agreement | None] = {}

    def inflect(
        self,
        label: str,
        case: str,
        gender: str | None = None,
        number: str | None = None,
        kinds: Collection[str] = (),
    ) -> str | None:
        """Return the first answer."""
        key = (label, case, gender, number, frozenset(kinds))
        if key not in self._known:
            answers = (each.inflect(*key[:4], kinds=kinds) for each in self.inflectors)  # type: ignore[arg-type]
            self._known[key] = next((answer for answer in answers if answer is not None), None)
        return self._known[key]

    def agree(self, label: str) -> Agreement | None:
        """Return the first answer."""
        if label not in self._agreements:
            answers = (inflector.agree(label) for inflector in self.inflectors)
            self._agreements[label] = next((answer for answer in answers if answer), None)
        return self._agreements[label]


def load_inflector(language: str, unimorph: Path | None = None) -> Inflector:
    """Return the inflector of a language: UniMorph's table in a folder, then what else is known.

    Of a language of which nothing is known it answers None. PolyprobeError where the table cannot
    be read, or pymorphy3 is asked for and absent.
    """
    inflectors: list[Inflector] = []
    if unimorph is not None:
        tables: Callable[..., Inflector | None] = import_module(".unimorph", __package__).load_table
        table = tables(unimorph, language)
        inflectors += [table] if table else []
    if module := INFLECTIONS.get(language):
        inflectors.append(import_module(f".{module}", __package__).Inflection(language))
    return Chain(inflectors)


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
