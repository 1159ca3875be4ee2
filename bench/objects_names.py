"""Objects among inflected names of Universal Dependencies: how many are found, by lemmatizer.

NAMES is a zip archive with `ud-names.jsonl` and `other-names.jsonl`. A row has a sentence, a label
and the characters `[start, end)` of its form. They are empty if the label is of another sentence,
or begins another name of this one (Ivan, Ivanov). Nothing of the archive is in this repository.
"""

import csv
import json
import zipfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from polyprobe.builder.objects import lemmatizers
from polyprobe.builder.objects.find import find_objects
from polyprobe.system.messages import PolyprobeError

from .objects_verdicts import find_wilson

METHODS = ("none", "simplemma", "stanza", "auto")
MEASURED = Path(lemmatizers.__file__).with_name("measured.csv")


class Counts(NamedTuple):
    """Rows of a language that were answered: exact spans by half, and names found wrongly."""

    halves: tuple[list[bool], list[bool]]  # even and odd lines
    wrong: list[bool]
    others: list[bool]

    @property
    def errors(self) -> int:
        """Return the number of wrong answers."""
        exact = [x for half in self.halves for x in half]
        return len(exact) - sum(exact) + sum(self.wrong) + sum(self.others)


def read_names(path: Path) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return {language: {kind: rows}}, the kinds `names`, `wrong` and `others`."""
    rows: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(
        lambda: {"names": [], "wrong": [], "others": []}
    )
    with zipfile.ZipFile(path) as archive:
        for name, kind in (("ud-names", "wrong"), ("other-names", "others")):
            for line in archive.read(f"{name}.jsonl").decode("utf-8").splitlines():
                row = json.loads(line)
                rows[row["language"]][kind if row["form"] is None else "names"].append(row)
    return rows


def count(
    rows: Mapping[str, Sequence[Mapping[str, Any]]],
    language: str,
    method: str,
    stanza_dir: Path | None,
) -> Counts | None:
    """Return the counts of a method; None if it does not have the language."""
    if method == "stanza" and not (Path(stanza_dir or "") / language / "lemma").is_dir():
        return None
    spans = {}
    for kind, part in rows.items():
        texts, labels = [row["text"] for row in part], [row["label"] for row in part]
        try:
            spans[kind] = find_objects(texts, labels, language, method, stanza_dir)
        except PolyprobeError:
            return None
    exact = [
        span is not None and (span.start, span.end) == (row["start"], row["end"])
        for row, span in zip(rows["names"], spans["names"], strict=True)
    ]
    wrong, others = ([span is not None for span in spans[x]] for x in ("wrong", "others"))
    return Counts((exact[::2], exact[1::2]), wrong, others)


def tabulate_names(
    path: Path, stanza_dir: Path | None
) -> tuple[list[str], dict[str, Counter[str]]]:
    """Return the section of the page, and the errors by language and lemmatizer."""
    lines = [
        "## Names of Universal Dependencies",
        "",
        "Inflected proper names with their lemma as label. The misses among the even lines of each "
        "language were read and the rules written for them; the names among all lines of the other "
        "names had been read, and the figures of both halves seen, before the "
        "rules were final. Exact: start and end of the form. Wrong: the label of another sentence "
        "is found. Other: another name that begins with the label is found (Ivan in Ivanov). "
        "Wilson's 95% intervals. The errors of the three lemmatizers, with those on Fluent-mLAMA, "
        "are in builder/objects/measured.csv, from which `auto` chooses.",
        "",
        "| language | method | rows | exact | interval | even lines | odd lines | wrong | other |",
        "| --- | --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    errors: dict[str, Counter[str]] = defaultdict(Counter)
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for language, rows in read_names(path).items():
        for method in METHODS:
            counts = count(rows, language, method, stanza_dir)
            if counts is None:
                continue
            errors[language][method] = counts.errors
            lines.append(f"| {language} | {method} | {write_counts(counts)} |")
            for kind, part in (("wrong", counts.wrong), ("others", counts.others)):
                sums[method].update({kind: sum(part), f"{kind} asked": len(part)})
    auto = sums["auto"]
    lines += [
        "",
        f"All languages with auto: {auto['wrong']} of {auto['wrong asked']:,} wrong labels and "
        f"{auto['others']} of {auto['others asked']} other names are found.",
    ]
    return lines, errors


def write_counts(counts: Counts) -> str:
    """Return the cells of a line of the table, without language and method."""
    exact = [x for half in counts.halves for x in half]
    low, high = find_wilson(sum(exact), len(exact))
    cells = [str(len(exact)), f"{sum(exact) / len(exact):.3f}", f"{low:.3f} to {high:.3f}"]
    cells += [f"{sum(half) / len(half):.3f}" for half in counts.halves]
    cells += [f"{sum(part)} of {len(part)}" for part in (counts.wrong, counts.others)]
    return " | ".join(cells)


def write_measured(errors: Mapping[str, Mapping[str, int]]) -> None:
    """Write the errors of the lemmatizers by language, for `auto`."""
    with MEASURED.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["language", *METHODS[:3]])
        for language in sorted(errors):
            writer.writerow([language, *(errors[language].get(x, "") for x in METHODS[:3])])
