"""Tables of languages or of pairs of languages from TSV files."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from polyprobe.system.errors import PolyprobeError
from polyprobe.system.files import read_tsv

from .pairs import Similarity, name_keys

EXPECTED = "expected a language and a number, or two languages and a number, between tabs"
_MOST = 1e100  # whose squares are finite
Row = tuple[tuple[str, ...], float]


def read_table(file: Path, languages: Sequence[str]) -> Similarity:
    """Return the table of a file over some languages.

    Each line has a language and a number, or two languages and a number; the first line may be a
    heading. From numbers of single languages, a pair has the smaller number. Languages are named by
    split, code, ISO 639-3 code, name in FLORES-200 or English name. Other languages are ignored.

    Raises:
        PolyprobeError: a file that cannot be read, a malformed line, two values of one language or
            pair, or no language of the run.
    """
    rows = _read_rows(file, languages)
    sizes = {len(names) for names, _ in rows}
    if len(sizes) != 1:
        raise PolyprobeError(f"{file}: lines of both kinds, or no lines; {EXPECTED}")
    known: dict[tuple[str, ...], float] = {}
    for names, value in rows:
        key = tuple(sorted(names))
        if known.setdefault(key, value) != value:
            raise PolyprobeError(f"{file}: two values of {' and '.join(names)}; keep one")
    given = {name for key in known for name in key}
    found = {x: next((key for key in name_keys(x) if key in given), None) for x in languages}
    if not any(found.values()):
        raise PolyprobeError(
            f"{file} has no language of the run: it has {', '.join(sorted(given)[:5])}, the run "
            f"{', '.join(languages)}"
        )
    missing = {x: f"not in {file.name}" for x, key in found.items() if key is None}
    if sizes == {1}:
        numbers = [known[key,] if key else np.nan for key in found.values()]
        return _as_numbers(file.stem, np.array(numbers), missing)
    values = np.full((len(languages),) * 2, np.nan)
    for one, other in combinations(range(len(languages)), 2):
        key = tuple(sorted(found[languages[place]] or "" for place in (one, other)))
        values[one, other] = values[other, one] = known.get(key, np.nan)
    return Similarity(file.stem, f"values of pairs in {file.name}", values, missing)


def _as_numbers(name: str, numbers: np.ndarray, missing: Mapping[str, str]) -> Similarity:
    values = np.minimum.outer(numbers, numbers)
    says = f"the smaller {name} of the two languages"
    return Similarity(name, says, values, missing, numbers=numbers)


def _read_rows(file: Path, languages: Sequence[str]) -> list[Row]:
    """Return the names, in lower case, and the number of each line.

    A first line without a number is a heading, unless it begins with a language of the run.
    """
    known = {name for language in languages for name in name_keys(language)}
    rows: list[Row] = []
    for line, cells in read_tsv(file, "--with"):
        *names, last = map(str.casefold, cells)
        number = _read_number(last)
        if number is None and line == 1 and not known.intersection(names[:1]):
            continue
        if number is None or len(names) not in (1, 2) or not all(names):
            raise PolyprobeError(f"{file}, line {line}: {' '.join(cells)!r:.80}; {EXPECTED}")
        rows.append((tuple(names), number))
    return rows


def _read_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < _MOST else None
