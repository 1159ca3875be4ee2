"""Read free predictions in the form that X-FACTR's authors released, and check their flags."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from polyprobe.analysis.errors import classify
from polyprobe.metrics.factual_accuracy.formulas import (
    find_matches,
    measure_factual_accuracy,
)
from polyprobe.schema.columns import SLOT
from polyprobe.system.messages import PolyprobeError

PER_PREDICTION = ("prediction", "is_same")
FLAGS = {"True": True, "False": False, "1": True, "0": False}
GOLD = ("gold",), ("gold_inflection", "gold_original")  # columns of the accepted texts
SEPARATOR = " | "
_SPECIAL = re.compile(r"\[(CLS|SEP|PAD)\]")
_MASKS = re.compile(r"(\[MASK\]\s*)+")
_PIECES = re.compile(r"(?<=\S):\d+(?=\s|$)")  # the number of a word's sub-words


class Released(NamedTuple):
    """One prediction: sentence with `[Y]`, prediction, accepted texts, and whether it is right.

    `single` says whether the object has one token; None in a file without `is_single_word`, as is
    the log-probability without `log_prob`.
    """

    prompt: str
    prediction: str
    gold: list[str]
    right: bool
    single: bool | None
    log_probability: float | None = None


class Flags(NamedTuple):
    """Flags of a file that agree with `factual_accuracy.match`; rows that differ, from 0."""

    agree: int
    total: int
    differ: tuple[int, ...]


def read_released(path: Path | str) -> list[Released]:
    """Return the predictions of a file, those of a second decoding last; see `read_decodings`."""
    return [row for rows in read_decodings(path) for row in rows]


def read_decodings(path: Path | str) -> list[list[Released]]:
    """Return the predictions of one or two decodings in a CSV file of the authors, by lines.

    The columns are `sentence` with special tokens and masks, `prediction`, `gold` (texts with ` | `
    between them), `is_same` and, not in all files, `is_single_word`. Files with two predictions a
    line have `prediction1`, `is_same1`, `prediction2`, `is_same2`. Files with `log_prob` have
    `gold_inflection`, `is_same`, `gold_original`, `is_same`: a prediction is right by either. Their
    numbers of sub-words after a word (`Grenada:2`) are removed.

    Raises:
        PolyprobeError: a file that cannot be read or lacks a column, or a flag other than True and
            False (1 and 0), or a log-probability that is no number, with the line.
    """
    try:
        with open(path, encoding="utf-8", newline="") as file:
            head = next(csv.reader(file), [])
            names = [f"{name} again" if name in head[:n] else name for n, name in enumerate(head)]
            lines = list(csv.DictReader(file, names))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise PolyprobeError(f"cannot read {path} as CSV: {error}") from error
    numbers = ("1", "2") if "prediction1" in names else ("",)
    gold = GOLD["gold_inflection" in names]
    for column in ("sentence", *gold, *(f"{x}{n}" for n in numbers for x in PER_PREDICTION)):
        if column not in names:
            raise PolyprobeError(f"{path} has no column {column!r}; it has {', '.join(names)}")
    return [[*_read_lines(lines, number, path, gold)] for number in numbers]


def _read_lines(
    lines: Sequence[dict[str, str]], number: str, path: Path | str, columns: Sequence[str]
) -> Iterator[Released]:
    marks = [f"is_same{number}", "is_same again"][: len(columns)]
    texts = ("sentence", f"prediction{number}", *columns)
    for place, line in enumerate(lines, start=1):
        for mark in marks:
            if line[mark] not in FLAGS:  # also of a line with too few fields
                raise PolyprobeError(
                    f"{path}, row {place}: {mark} is {line[mark]!r}; expected True or False"
                )
        sentence, text, *gold = (
            _PIECES.sub("", line[x]) if len(columns) > 1 else line[x] for x in texts
        )
        prompt = _MASKS.sub(f"{SLOT} ", _SPECIAL.sub("", sentence)).strip()
        accepted = dict.fromkeys(SEPARATOR.join(gold).split(SEPARATOR))
        right, single = any(FLAGS[line[x]] for x in marks), line.get("is_single_word", "")
        try:
            value = float(line["log_prob"]) if "log_prob" in line else None
        except (TypeError, ValueError) as error:
            raise PolyprobeError(f"{path}, row {place}: log_prob is no number: {error}") from error
        yield Released(prompt, text, [*accepted], right, FLAGS.get(single), value)


def check_flags(path: Path | str, language: str) -> Flags:
    """Count how many flags of a file are those of `match` in a language (X-FACTR, section 3.4)."""
    rows = read_released(path)
    prompts, texts, gold, flags, *_ = zip(*rows, strict=True) if rows else ((),) * 5
    matches = find_matches(texts, gold, language, prompts)
    differ = tuple(place for place, flag in enumerate(flags) if matches[place] != flag)
    return Flags(len(rows) - len(differ), len(rows), differ)


def classify_released(path: Path | str, language: str) -> list[str]:
    """Find the type of each wrong prediction of a file, see `types.classify`.

    A file is one relation, or one sample of all relations.
    """
    rows = read_released(path)
    prompts, texts, gold, right, *_ = zip(*rows, strict=True) if rows else ((),) * 5
    return classify(texts, prompts, gold, language, right=right)


def score_released(paths: Iterable[Path | str], language: str, **options: Any) -> dict[str, Any]:
    """Return `measure_factual_accuracy` of files of one relation each, macro over the files.

    `single` and `multi` need the column `is_single_word` in every file. `options` are those of the
    metric, such as `empty="zero"` for the released mean of relations without such objects.
    """
    parts = [(Path(path).stem, row) for path in paths for row in read_released(path)]
    groups, rows = zip(*parts, strict=True) if parts else ((), ())
    prompts, texts, gold, _, single, *_ = zip(*rows, strict=True) if rows else ((),) * 5
    return measure_factual_accuracy(
        texts,
        gold,
        None if None in single else single,
        language,
        prompts,
        groups=groups,
        **options,
    )
