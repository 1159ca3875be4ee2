"""Manual verdicts on disagreements with Fluent-mLAMA's extraction, and rates corrected by them.

`objects_judged.csv` has one line for each answer of ours: the fact, the first run with this answer,
the characters `[start, end)` of the object (empty: not found), the verdict, and the reason. It
contains every answer of the runs in COMPLETE that differs from the paper's, and a seeded sample of
the other answers of the fuzzy baseline. `objects_alike.csv` contains the rows where the paper and
Stanza have the same wrong answer, in the subject.
"""

import csv
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import NamedTuple

from polyprobe.builder.objects.find import ObjectSpan

from .objects_rows import Row

JUDGED = Path(__file__).with_name("objects_judged.csv")
ALIKE = Path(__file__).with_name("objects_alike.csv")
COMPLETE, SAMPLED = ("stanza", "simplemma", "none"), "fuzzy"
RUNS = (*COMPLETE, SAMPLED)
VERDICTS = ("ours", "both", "paper", "neither")
Z = 1.959964  # 95%


class Judged(NamedTuple):
    """One line of the file."""

    language: str
    relation: str
    subject_id: str
    object_id: str
    run: str
    start: str
    end: str
    verdict: str
    reason: str

    @property
    def answer(self) -> tuple[str, ...]:
        """Return the judged answer: a fact, and the position of its object."""
        return (*self[:4], self.start, self.end)


class Rate(NamedTuple):
    """The number of a run's rows, of those equal to and different from the paper, and the verdicts.

    `shared` rows equal the paper's and are wrong like them. `right` is the share of correct rows;
    its interval has no width if all differing answers have verdicts.
    """

    rows: int
    equal: int
    differing: int
    verdicts: Counter[str]
    unjudged: int
    shared: int
    right: float
    low: float
    high: float


def read_judged(path: Path = JUDGED) -> list[Judged]:
    """Return the lines of the file."""
    with path.open(encoding="utf-8", newline="") as file:
        return [Judged(**line) for line in csv.DictReader(file)]


def read_alike(path: Path = ALIKE) -> set[tuple[str, ...]]:
    """Return the facts where Stanza and the paper have the same wrong answer."""
    with path.open(encoding="utf-8", newline="") as file:
        return {tuple(line.values())[:4] for line in csv.DictReader(file)}


def list_wrong(judged: Sequence[Judged]) -> set[tuple[str, ...]]:
    """Return the facts with a known wrong object in the paper."""
    return read_alike() | {line[:4] for line in judged if line.verdict in ("ours", "neither")}


def name_answer(row: Row, found: ObjectSpan | None) -> tuple[str, ...]:
    """Return the key of an answer, as in `Judged.answer`."""
    return (*row.fact, *((str(found.start), str(found.end)) if found else ("", "")))


def list_disagreements(
    rows: Sequence[Row], found: Sequence[ObjectSpan | None]
) -> dict[tuple[str, ...], Row]:
    """Return the answers that differ from the paper's."""
    pairs = zip(rows, found, strict=True)
    return {name_answer(row, answer): row for row, answer in pairs if not row.agrees(answer)}


def correct(
    run: str,
    rows: Sequence[Row],
    found: Sequence[ObjectSpan | None],
    judged: Sequence[Judged],
    wrong: Collection[tuple[str, ...]],
) -> Rate:
    """Return the share of a run's correct rows, by the paper's answers and by verdicts.

    An answer counts as correct if it equals the paper's, unless the paper's is known to be wrong
    (`shared`), or if its verdict is `ours` or `both`. Equal answers of several runs have the same
    verdict. The share among the baseline's remaining disagreements is estimated from its sample,
    with Wilson's interval. Remaining disagreements of other runs count as wrong, within an interval
    that includes correct.
    """
    differing = list_disagreements(rows, found)
    verdicts = {line.answer: line for line in judged}
    known = [verdicts[answer] for answer in differing if answer in verdicts]
    drawn = [line for line in known if line.run == run == SAMPLED]
    sure = [line for line in known if not line.run == run == SAMPLED]
    agreeing = [row for row, f in zip(rows, found, strict=True) if row.agrees(f)]
    shared = sum(row.fact in wrong for row in agreeing)
    fixed = len(agreeing) - shared + sum(map(is_right, sure))
    rest, right = len(differing) - len(sure), sum(map(is_right, drawn))
    share = right / len(drawn) if drawn else 0.0
    bounds = (share, share) if rest == len(drawn) else find_wilson(right, len(drawn))
    values = [(fixed + rest * value) / len(rows) for value in (share, *bounds)]
    counts = Counter(line.verdict for line in known)
    unjudged = len(differing) - len(known)
    return Rate(len(rows), len(agreeing), len(differing), counts, unjudged, shared, *values)


def is_right(line: Judged) -> bool:
    """Return whether our answer is correct."""
    return line.verdict in ("ours", "both")


def find_wilson(right: int, total: int) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share; (0, 1) for no rows."""
    if not total:
        return 0.0, 1.0
    share, spread = right / total, Z * Z / total
    middle = (share + spread / 2) / (1 + spread)
    half = Z * sqrt(share * (1 - share) / total + spread / total / 4) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def tabulate_verdicts(rates: Mapping[tuple[str, str], Rate]) -> list[str]:
    """Return one line for each language and run: verdicts, and rates before and after them."""
    lines = [
        "| language | run | rows | equal to the paper | differ | ours | both | paper | neither "
        "| not judged | equal, but wrong | correct among all rows |",
        "| --- | --- |" + " ---: |" * 10,
    ]
    for (language, run), rate in rates.items():
        counts = " | ".join(str(rate.verdicts[verdict]) for verdict in VERDICTS)
        right = f"{rate.right:.2%}"
        if rate.high > rate.low:
            right += f" ({rate.low:.2%} to {rate.high:.2%})"
        lines.append(
            f"| {language} | {run} | {rate.rows:,} | {rate.equal / rate.rows:.2%} "
            f"| {rate.differing} | {counts} | {rate.unjudged} | {rate.shared} | {right} |"
        )
    return lines


def tabulate_errors(
    differing: Mapping[tuple[str, str], Mapping[tuple[str, ...], Row]],
    judged: Sequence[Judged],
    rates: Mapping[tuple[str, str], Rate],
) -> list[str]:
    """Return one line for each reason of our errors, with counts by language and run."""
    wrong = {line.answer: line.reason for line in judged if not is_right(line)}
    columns = [key for key in differing if key[1] != SAMPLED]
    counts = {
        key: Counter(wrong[answer] for answer in differing[key] if answer in wrong)
        for key in columns
    }
    for key in columns:
        counts[key]["same error as the paper"] = rates[key].shared
    total = sum(counts.values(), Counter())
    lines = [
        f"| reason | {' | '.join(' '.join(key) for key in columns)} |",
        f"| --- |{' ---: |' * len(columns)}",
    ]
    for reason, _ in sorted(total.items(), key=lambda pair: (-pair[1], pair[0])):
        cells = " | ".join(str(counts[key][reason]) for key in columns)
        lines.append(f"| {reason} | {cells} |")
    return lines
