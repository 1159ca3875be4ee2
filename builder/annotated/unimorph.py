"""UniMorph's tables (unimorph.github.io): lemma, form and features, separated by tabs.

A folder contains them as UniMorph's repositories (`rus/rus`) or as plain files (`rus`). The licence
is in each repository (mostly CC BY-SA 3.0).
"""

from pathlib import Path

from polyprobe.system.errors import PolyprobeError

from .gender import FEM, MASC, NEUT, PL, SG, Agreement
from .inflector import CasedLabel, Inflector, split_tail

CODES = {
    "bn": "ben", "el": "ell", "es": "spa", "fr": "fra", "he": "heb", "hu": "hun", "ru": "rus",
    "tr": "tur", "uk": "ukr",
}  # fmt: skip
# The tables' names of cases that the prompts spell otherwise.
SPELLINGS = {"INS": {"INS", "INST"}, "INST": {"INS", "INST"}, "ESS": {"ESS", "LOC"}}


class Table(Inflector):
    """The nouns and adjectives of one table; labels of several words are looked up as a whole."""

    def __init__(self, path: Path) -> None:
        self.name = f"UniMorph {path.name}"
        self._forms: dict[str, list[tuple[str, frozenset[str]]]] = {}
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            fields = line.split("\t")
            if not line.strip():
                continue
            if len(fields) < 3:
                raise PolyprobeError(
                    f"{path} line {number}: expected lemma, form and features with tabs between "
                    f"them, got {line[:40]!r}"
                )
            lemma, form, features = fields[:3]
            named = frozenset(features.upper().split(";"))
            if named & {"N", "PROPN", "ADJ"}:
                self._forms.setdefault(lemma, []).append((form, named))

    def inflect(self, asked: CasedLabel) -> str | None:
        """Return the first form in the table with the case, number and gender, or None."""
        head, tail = split_tail(asked.label)
        cases = SPELLINGS.get(asked.case, {asked.case})
        for form, features in self._forms.get(head, ()):
            spelled = {*features, *(part for name in features for part in name.split("/"))}
            fits_number = (asked.number or SG) in spelled or not {SG, PL} & spelled
            genders = {MASC, FEM, NEUT} & spelled
            fits_gender = not genders or asked.gender is None or asked.gender in genders
            if cases & spelled and fits_number and fits_gender:
                return form + tail
        return None

    def agree(self, label: str) -> Agreement | None:
        """Return the label's gender in the table, or None."""
        for _, features in self._forms.get(split_tail(label)[0], ()):
            if genders := sorted({MASC, FEM, NEUT} & features):
                return Agreement(genders[0])
        return None


def load_table(folder: Path, language: str) -> Table | None:
    """Return the table of a language, or None."""
    path = find_table(folder, language)
    return Table(path) if path else None


def find_table(folder: Path, language: str) -> Path | None:
    """Return the path of a language's table, or None."""
    if not folder.is_dir():
        raise PolyprobeError(
            f"no folder {folder} with UniMorph's tables; expected files like rus or rus/rus in it"
        )
    code = CODES.get(language, "")
    paths = [folder / code, folder / code / code]
    return next((path for path in paths if code and path.is_file()), None)
