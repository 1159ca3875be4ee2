"""The inflector of each language."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from .gender import Agreement
from .inflector import CasedLabel, Inflector
from .unimorph import load_table

# language: module of its class `Inflection`
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
    """Inflectors in turn; answers are cached."""

    def __init__(self, inflectors: Sequence[Inflector]) -> None:
        self.inflectors = inflectors
        self.name = ", then ".join(inflector.name for inflector in inflectors) or "none"
        self._known: dict[CasedLabel, str | None] = {}
        self._agreements: dict[str, Agreement | None] = {}

    def inflect(self, asked: CasedLabel) -> str | None:
        """Return the first answer."""
        if asked not in self._known:
            answers = (inflector.inflect(asked) for inflector in self.inflectors)
            self._known[asked] = next((answer for answer in answers if answer is not None), None)
        return self._known[asked]

    def agree(self, label: str) -> Agreement | None:
        """Return the first answer."""
        if label not in self._agreements:
            answers = (inflector.agree(label) for inflector in self.inflectors)
            self._agreements[label] = next((answer for answer in answers if answer), None)
        return self._agreements[label]


def load_inflector(language: str, unimorph: Path | None = None) -> Inflector:
    """Return the inflector of a language: UniMorph's table in a folder, then the language's rules.

    Without either, every form is unknown.

    Raises:
        PolyprobeError: the table cannot be read, or pymorphy3 is required and missing.
    """
    inflectors: list[Inflector] = []
    if unimorph is not None:
        table = load_table(unimorph, language)
        inflectors += [table] if table else []
    if module := INFLECTIONS.get(language):
        inflectors.append(import_module(f".languages.{module}", __package__).Inflection(language))
    return Chain(inflectors)
