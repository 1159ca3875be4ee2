"""Read free predictions in the form that X-FACTR's authors released, and check their flags."""

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from polyprobe.metrics.factual_accuracy.factual_accuracy import find_matches
from polyprobe.schema.columns import SLOT
from polyprobe.system.errors import PolyprobeError

from .types import classify

PER_PREDICTION = ("prediction", "is_same")
FLAGS = {"True": True, "False": False}
SEPARATOR = " | "
_SPECIAL = re.compile(r"\[(CLS|SEP|PAD)\]")
_MASKS = re.compile(r"(\[MASK\]\s*)+")


class Released(NamedTuple):
    """One prediction: sentence with `[Y]`, prediction, accepted texts, and whether it is right."""

    prompt: str
    prediction: str
    gold: list[str]
    right: bool


class Flags(NamedTuple):
    """How many flags of a file agree with `factual_accuracy.match`, and the lines that differ."""

    agree: int
    total: int
    differ: list[int]


def read_released(path: Path | str) -> list[Released]:
    """Return the predictions of a CSV file of the authors, in the order of its lines.

    The columns are `sentence` with special tokens and masks, `prediction`, `gold` (texts with ` | `
    between them) and `is_same`; files with two predictions a line have `prediction1`, `is_same1`,
    `prediction2`, `is_same2`.

    Raises:
        PolyprobeError: a file that cannot be read or lacks a column, or a flag other than True and
            False, with the line.
    """
    try:
        with open(path, encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            lines, names = list(reader), reader.fieldnames or []
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise PolyprobeError(f"cannot read {path} as CSV: {error}") from error
    numbers = ("1", "2") if "prediction1" in names else ("",)
    for column in ("sentence", "gold", *(f"{x}{n}" for n in numbers for x in PER_PREDICTION)):
        if column not in names:
            raise PolyprobeError(f"{path} has no column {column!r}; it has {', '.join(names)}")
    return [row for number in numbers for row in _read_lines(lines, number, path)]


def _read_lines(
    lines: Sequence[dict[str, str]], number: str, path: Path | str
) -> Iterator[Released]:
    for place, line in enumerate(lines, start=1):
        flag = line[f"is_same{number}"]
        if flag not in FLAGS:  # also of a line with too few fields
            raise PolyprobeError(
                f"{path}, row {place}: is_same{number} is {flag!r}; expected True or False"
            )
        prompt = _MASKS.sub(f"{SLOT} ", _SPECIAL.sub("", line["sentence"])).strip()
        gold = line["gold"].split(SEPARATOR)
        yield Released(prompt, line[f"prediction{number}"], gold, FLAGS[flag])


def check_flags(path: Path | str, language: str) -> Flags:
    """Return how many flags of a file are those of `match` in a language (X-FACTR, section 3.4)."""
    rows = read_released(path)
    prompts, texts, gold, flags = zip(*rows, strict=True) if rows else ((), (), (), ())
    found = find_matches(texts, gold, language, prompts)
    differ = [place for place, flag in enumerate(flags) if found[place] != flag]
    return Flags(len(rows) - len(differ), len(rows), differ)


def classify_released(path: Path | str, language: str) -> list[str]:
    """Return the type of each wrong prediction of a file, see `types.classify`.

    A file is one relation, or one sample of all relations.
    """
    rows = read_released(path)
    prompts, texts, gold, right = zip(*rows, strict=True) if rows else ((), (), (), ())
    return classify(texts, prompts, gold, language, right=right)
