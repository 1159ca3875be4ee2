"""Inflecting labels: one interface, and what stands behind it in each language."""

from collections.abc import Collection, Sequence
from importlib import import_module
from pathlib import Path

from .gender import Agreement
from .inflector import Inflector
from .unimorph import load_table

# language: the module whose `Inflection` knows its cases
INFLECTIONS = {
    "bn": "bn",
    "el": "el",
    "hu": "hu",
    "mr": "mr",
    "ru": "slavic",
    "tr": "tr",
    "uk": "slavic",
}


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
        table = load_table(unimorph, language)
        inflectors += [table] if table else []
    if module := INFLECTIONS.get(language):
        inflectors.append(import_module(f".languages.{module}", __package__).Inflection(language))
    return Chain(inflectors)
