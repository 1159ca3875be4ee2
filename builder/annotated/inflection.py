"""Inflection of labels: its interface, endings by a rule, and UniMorph's tables."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from polyprobe.schema.languages import read_languages
from polyprobe.system.files import TAB, read_tsv
from polyprobe.system.messages import PolyprobeError

from .entities import FEM, MASC, NEUT, PL, SG, Agreement

CODES = {x: read_languages()[x].iso for x in ("bn", "el", "es", "fr", "he", "hu", "ru", "tr", "uk")}
# The tables' names of cases that the prompts spell otherwise.
SPELLINGS = {"INS": {"INS", "INST"}, "INST": {"INS", "INST"}, "ESS": {"ESS", "LOC"}}


class CasedLabel(NamedTuple):
    """A label and the case to put it in; gender and number are None if unknown."""

    label: str
    case: str  # one of `grammar.CASES`, or COP for the copula of Turkish
    gender: str | None = None
    number: str | None = None
    kinds: Collection[str] = frozenset()  # keys of `entities.KINDS`


class Inflector(ABC):
    """Inflects labels. `name` describes the source of the forms on cards."""

    name: str

    @abstractmethod
    def inflect(self, request: CasedLabel) -> str | None:
        """Return the label in its case, None if the form is unknown."""

    def agree(self, label: str) -> Agreement | None:
        """Return the gender and number of the label's head, None if they are unknown."""
        return None


@dataclass(frozen=True)
class ByRule(Inflector):
    """Adds endings by a rule that ignores gender and number."""

    name: str
    # Returns a head in a case other than the nominative, None if the form is unknown.
    decline: Callable[[str, str, Collection[str]], str | None]
    stops: tuple[str, ...] = (" (",)  # of `split_tail`

    def inflect(self, request: CasedLabel) -> str | None:
        """Return the label with its head in the case; the nominative is the label."""
        head, tail = split_tail(request.label, self.stops)
        form = head if request.case == "NOM" else self.decline(head, request.case, request.kinds)
        return None if form is None else form + tail


class Chain(Inflector):
    """Inflectors in turn; forms are cached."""

    def __init__(self, inflectors: Sequence[Inflector]) -> None:
        self.inflectors = inflectors
        self.name = ", then ".join(inflector.name for inflector in inflectors) or "none"
        self._known: dict[CasedLabel, str | None] = {}

    def inflect(self, request: CasedLabel) -> str | None:
        """Return the first answer."""
        if request not in self._known:
            answers = (inflector.inflect(request) for inflector in self.inflectors)
            self._known[request] = next((answer for answer in answers if answer is not None), None)
        return self._known[request]

    def agree(self, label: str) -> Agreement | None:
        """Return the first answer."""
        answers = (inflector.agree(label) for inflector in self.inflectors)
        return next((answer for answer in answers if answer), None)


class UnimorphTable(Inflector):
    """The nouns and adjectives of a table; labels of several words are looked up as a whole."""

    def __init__(self, path: Path) -> None:
        self.name = f"UniMorph {path.name}"
        self._forms: dict[str, list[tuple[str, frozenset[str]]]] = {}
        for number, cells in read_tsv(path, "--unimorph"):
            if len(cells) < 3:
                raise PolyprobeError(
                    f"{path} line {number}: expected lemma, form and features with tabs between "
                    f"them, got {TAB.join(cells)[:40]!r}"
                )
            lemma, form, features, *_ = cells
            tags = frozenset(features.upper().split(";"))
            if tags & {"N", "PROPN", "ADJ"}:
                self._forms.setdefault(lemma, []).append((form, tags))

    def inflect(self, request: CasedLabel) -> str | None:
        """Return the first form in the table with the case, number and gender, or None."""
        head, tail = split_tail(request.label)
        cases = SPELLINGS.get(request.case, {request.case})
        for form, features in self._forms.get(head, ()):
            spelled = {*features, *(part for name in features for part in name.split("/"))}
            fits_number = (request.number or SG) in spelled or not {SG, PL} & spelled
            genders = {MASC, FEM, NEUT} & spelled
            fits_gender = not genders or request.gender is None or request.gender in genders
            if cases & spelled and fits_number and fits_gender:
                return form + tail
        return None

    def agree(self, label: str) -> Agreement | None:
        """Return the label's gender in the table, or None."""
        for _, features in self._forms.get(split_tail(label)[0], ()):
            if genders := sorted({MASC, FEM, NEUT} & features):
                return Agreement(genders[0])
        return None


def find_table(folder: Path, language: str) -> Path | None:
    """Return the path of a language's table, as a plain file or in UniMorph's repository."""
    if not folder.is_dir():
        raise PolyprobeError(
            f"no folder {folder} with UniMorph's tables; expected files like rus or rus/rus in it"
        )
    code = CODES.get(language, "")
    return next((x for x in (folder / code, folder / code / code) if x.is_file()), None)


def split_tail(label: str, stops: tuple[str, ...] = (" (",)) -> tuple[str, str]:
    """Return the head of a label, and its rest from the first stop on, such as a parenthesis.

    >>> split_tail("Tromsø (city)")
    ('Tromsø', ' (city)')
    """
    end = min((end for end in map(label.find, stops) if end > 0), default=len(label))
    return label[:end], label[end:]


def keep_capitals(form: str, word: str) -> str:
    """Return the form with the capitals of each part of the word between hyphens."""
    if word.isupper() and len(word) > 1:
        return form.upper()
    forms, words = form.split("-"), word.split("-")
    if len(forms) != len(words):
        return capitalise(form) if word[:1].isupper() else form
    pairs = zip(forms, words, strict=True)
    return "-".join(capitalise(new) if old[:1].isupper() else new for new, old in pairs)


def capitalise(text: str) -> str:
    """Return the text with a capital first letter."""
    return text[:1].upper() + text[1:]
