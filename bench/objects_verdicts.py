"""Disagreements with Fluent-mLAMA's extraction judged by hand, and the rates corrected by them.

`objects_judged.csv` has an answer of ours a line: the fact, the first run that gave it, the
characters `[start, end)` where the object was found (empty: not found), who is right, and why.
Every answer of the runs in COMPLETE that differs from the paper's is judged, and of the fuzzy
baseline's further ones a seeded draw. `objects_alike.csv` has the rows where the paper's answer and
Stanza's are one and the same, and wrong: the subject's.
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
Z = 1.959964  # 95 %


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
        """Return what was judged: a fact, and where its object was found."""
        return (*self[:4], self.start, self.end)


class Rate(NamedTuple):
    """A run's rows, how many equal the paper's and differ, and the verdicts on those that differ.

    `shared` rows equal the paper's and are wrong with it. `right` is the share right of all, with
    an interval that has no width where all that differ are judged.
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
    """Return the facts where Stanza's answer and the paper's are the same wrong one."""
    with path.open(encoding="utf-8", newline="") as file:
        return {tuple(line.values())[:4] for line in csv.DictReader(file)}


def list_wrong(judged: Sequence[Judged]) -> set[tuple[str, ...]]:
    """Return the facts whose object the paper has wrong, as far as is known."""
    return read_alike() | {line[:4] for line in judged if line.verdict in ("ours", "neither")}


def name_answer(row: Row, found: ObjectSpan | None) -> tuple[str, ...]:
    """Return an answer as `Judged.answer` writes it."""
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
    """Return how often a run is right, by the paper's answers and the verdicts where it differs.

    An answer counts as right where it equals the paper's, unless the fact is among those that the
    paper has wrong (`shared`), and where `ours` or `both` are right. Answers
    that another run gave too have its verdict. The rest of the baseline's disagreements is as
    often right as those that were drawn from it, within Wilson's interval; of another run's it
    is wrong, within an interval that has it right.
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
    """Tell whether our answer is right."""
    return line.verdict in ("ours", "both")


def find_wilson(right: int, total: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share; (0, 1) of nothing."""
    if not total:
        return 0.0, 1.0
    share, spread = right / total, Z * Z / total
    middle = (share + spread / 2) / (1 + spread)
    half = Z * sqrt(share * (1 - share) / total + spread / total / 4) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def tabulate_verdicts(rates: Mapping[tuple[str, str], Rate]) -> list[str]:
    """Return a line for each language and run: verdicts, and the rates before and after."""
    lines = [
        "| language | run | rows | equal to the paper | differ | ours | both | paper | neither "
        "| not judged | equal, but wrong | right among all rows |",
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
    """Return a line for each reason why we are wrong, its answers by language and run."""
    wrong = {line.answer: line.reason for line in judged if not is_right(line)}
    columns = [key for key in differing if key[1] != SAMPLED]
    counts = {
        key: Counter(wrong[answer] for answer in differing[key] if answer in wrong)
        for key in columns
    }
    for key in columns:
        counts[key]["wrong as the paper is"] = rates[key].shared
    total = sum(counts.values(), Counter())
    lines = [
        f"| reason | {' | '.join(' '.join(key) for key in columns)} |",
        f"| --- |{' ---: |' * len(columns)}",
    ]
    for reason, _ in sorted(total.items(), key=lambda pair: (-pair[1], pair[0])):
        cells = " | ".join(str(counts[key][reason]) for key in columns)
        lines.append(f"| {reason} | {cells} |")
    return lines
