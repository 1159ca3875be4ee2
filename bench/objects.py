"""Compare the positions of objects with Fluent-mLAMA's own extraction.

Run `python -m bench objects [MIRROR] [STANZA] [NAMES]`. MIRROR is a folder with Fluent-mLAMA's
archive (default: download), STANZA one with Stanza's models (default: Stanza's own folder), NAMES
an archive of names (`objects_names`). It prints the page, writes it to bench/objects.md, the errors
to builder/objects/measured.csv, and prints the answers without a verdict.
"""

import os
import platform
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from polyprobe.builder.objects.find import ObjectSpan
from polyprobe.builder.sources.fluent_mlama import REPOSITORY
from polyprobe.metrics.shared.names import UNINFLECTED

from .machine import find_cpu
from .objects_names import tabulate_names, write_measured
from .objects_rows import FUZZY, HEADS, THRESHOLD, Row, Way, find, read_rows, relabel
from .objects_rows import remember_words as remember
from .objects_verdicts import (
    COMPLETE,
    RUNS,
    Judged,
    correct,
    list_disagreements,
    list_wrong,
    read_alike,
    read_judged,
    tabulate_errors,
    tabulate_verdicts,
)

LANGUAGES = ("ru", "uk", "es", "da", "vi", "zh")
JUDGED_LANGUAGES = ("ru", "uk")
TIMED, SENTENCES, ROUNDS = "ru", 2000, 3
PACKAGES = ("stanza", "torch", "simplemma", "rapidfuzz")


class Line(NamedTuple):
    """The results of a method in a language: found objects, and the count of wrong labels found."""

    way: Way
    found: Sequence[ObjectSpan | None]
    wrong: int
    relabelled: int


def main(argv: Sequence[str] = ()) -> None:
    """Measure times and results, count verdicts, write the page."""
    mirror, stanza_dir, names = (Path(argv[at]) if len(argv) > at else None for at in range(3))
    machine = describe_machine()
    rows = read_rows(mirror, LANGUAGES)
    taken = measure_time(rows[TIMED], stanza_dir)
    remember()
    lines = {language: measure(rows[language], stanza_dir) for language in LANGUAGES}
    section, errors = tabulate_names(names, stanza_dir) if names else ([], {})
    for language, measured in lines.items() if names else ():
        add_errors(errors, language, measured, rows[language])
    if names:
        write_measured(errors)
    text = "\n".join(
        [
            *introduce(machine),
            *tabulate(rows, lines, by_relation=False),
            "",
            "One call per relation, as in a small build:",
            "",
            *tabulate(rows, lines, by_relation=True),
            "",
            *tabulate_time(taken),
            "",
            *judge(rows, lines, read_judged()),
            "",
            *section,
            "",
        ]
    )
    print(text)
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


def add_errors(
    errors: dict[str, Counter[str]], language: str, lines: Sequence[Line], rows: Sequence[Row]
) -> None:
    """Add the errors on a language's rows, of the first line of each lemmatizer."""
    for line in lines:
        if line.way.name in COMPLETE and line.way in list_ways(language)[: len(COMPLETE)]:
            agreed = sum(row.agrees(x) for row, x in zip(rows, line.found, strict=True))
            errors[language][line.way.name] += len(rows) - agreed + line.wrong


def list_ways(language: str) -> list[Way]:
    """Return the methods compared in a language; the first four of judged languages are RUNS."""
    drop = language in HEADS
    if language in UNINFLECTED:
        return [Way("none"), Way(FUZZY), Way("none", by_relation=True)]
    ways = [*(Way(name, drop) for name in COMPLETE), Way(FUZZY), Way("stanza", drop, True)]
    return [*ways, Way("stanza"), Way(FUZZY, drop)] if drop else ways


def measure(rows: Sequence[Row], stanza_dir: Path | None) -> list[Line]:
    """Return the results of each method on the rows of a language."""
    others = relabel(rows)
    lines = []
    for way in list_ways(rows[0].language):
        wrong = sum(found is not None for found in find(others, way, stanza_dir))
        lines.append(Line(way, find(rows, way, stanza_dir), wrong, len(others)))
        print(rows[0].language, way, file=sys.stderr, flush=True)
    return lines


def measure_time(rows: Sequence[Row], stanza_dir: Path | None) -> dict[Way, float]:
    """Return the median seconds of each method, including loading, on other sentences each round.

    The time is processor time, since others may use the machine.
    """
    ways = [*(Way(name, drop_head_noun=True) for name in COMPLETE), Way(FUZZY)]
    drawn = random.Random(0).sample(rows, ROUNDS * SENTENCES)
    taken: dict[Way, list[float]] = {way: [] for way in ways}
    for first in range(0, len(drawn), SENTENCES):
        for way in ways:
            start = time.process_time()
            find(drawn[first : first + SENTENCES], way, stanza_dir)
            taken[way].append(time.process_time() - start)
    return {way: statistics.median(seconds) for way, seconds in taken.items()}


def describe_machine() -> str:
    """Return a description of the processor, its cores and load, and the versions."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{find_cpu()}, {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f} at the start, OMP_NUM_THREADS="
        f"{os.environ.get('OMP_NUM_THREADS', 'unset')}; Python {platform.python_version()}, "
        f"{versions}."
    )


def introduce(machine: str) -> list[str]:
    """Return the head of the page."""
    return [
        "# Object positions: polyprobe and Fluent-mLAMA's own extraction",
        "",
        f"`python -m bench objects`, on {REPOSITORY.name} at {REPOSITORY.commit[:12]}: six of "
        "its nine languages, all rows whose object the paper found.",
        "",
        "- Equal: the object (`gt_infl_object`) and the text before it (`gt_prompt`) equal the "
        "released characters.",
        "- Verbatim rows: the sentence contains the label unchanged. Inflected rows: all others, "
        "including other names.",
        "- Wrong label found: an object is found for another label of the relation, drawn at "
        "random (seed 0), or its aliases. Some of these labels do occur in the sentence.",
        f"- Aliases are searched after the label. The threshold is {THRESHOLD}.",
        "- Head noun: the paper's Russian objects exclude `язык`, and so do ours "
        '(`drop_head_noun`). The row "head noun kept" shows the effect of this convention.',
        "- Fuzzy baseline: the window with as many words as the label (in Chinese, characters) "
        f"and the highest `rapidfuzz.fuzz.ratio` of {THRESHOLD} or more, the rightmost in case of "
        "a tie. It uses no aliases and no lemmas. A separate row removes `язык` from its labels.",
        "- Vietnamese and Chinese do not inflect and are not lemmatised.",
        "",
        machine,
        "",
        "One call per language:",
        "",
    ]


def tabulate(
    rows: Mapping[str, Sequence[Row]], lines: Mapping[str, Sequence[Line]], by_relation: bool
) -> list[str]:
    """Return one line for each language and method, for one kind of calls."""
    table = [
        "| language | method | rows verbatim | equal | rows inflected | equal | all equal "
        "| not found | wrong label found |",
        "| --- | --- |" + " ---: |" * 7,
    ]
    for language, measured in lines.items():
        for line in measured:
            if line.way.by_relation == by_relation:
                table.append(f"| {language} | {write_line(rows[language], line)} |")
    return table


def write_line(rows: Sequence[Row], line: Line) -> str:
    """Return the cells of a line, without the language."""
    equal: dict[bool, list[bool]] = {True: [], False: []}
    for row, found in zip(rows, line.found, strict=True):
        equal[row.verbatim].append(row.agrees(found))
    cells = [name_way(rows[0].language, line.way)]
    for part in equal.values():
        cells += [f"{len(part):,}", f"{sum(part) / len(part):.2%}" if part else "-"]
    cells.append(f"{sum(map(sum, equal.values())) / len(rows):.2%}")
    cells.append(str(sum(found is None for found in line.found)))
    return " | ".join([*cells, f"{line.wrong / line.relabelled:.2%}"])


def name_way(language: str, way: Way) -> str:
    """Return the name of a method on the page."""
    name = "no lemmatiser" if way.name == "none" else way.name
    if language not in HEADS or way.drop_head_noun == (way.name != FUZZY):
        return name
    return f"{name}, head noun {'dropped' if way.drop_head_noun else 'kept'}"


def tabulate_time(taken: Mapping[Way, float]) -> list[str]:
    """Return the seconds of each method, and their ratio to the baseline's."""
    baseline = taken[Way(FUZZY)]
    return [
        f"Processor time for {SENTENCES:,} sentences ({TIMED}), including model loading: "
        f"medians of {ROUNDS} rounds, each with other sentences. The methods take turns in one "
        "process.",
        "",
        "| method | seconds | ratio to the baseline |",
        "| --- | ---: | ---: |",
        *(
            f"| {name_way(TIMED, way)} | {seconds:.3f} | {seconds / baseline:,.0f} |"
            for way, seconds in taken.items()
        ),
    ]


def judge(
    rows: Mapping[str, Sequence[Row]],
    lines: Mapping[str, Sequence[Line]],
    judged: Sequence[Judged],
) -> list[str]:
    """Return the part of the page on the disagreements with verdicts."""
    found = {
        (language, run): line.found
        for language in JUDGED_LANGUAGES
        for run, line in zip(RUNS, lines[language], strict=False)
    }
    wrong = list_wrong(judged)
    rates = {
        (language, run): correct(run, rows[language], answers, judged, wrong)
        for (language, run), answers in found.items()
    }
    differing = {key: list_disagreements(rows[key[0]], answers) for key, answers in found.items()}
    gone = sum(line.answer not in differing[line.language, line.run] for line in judged)
    judged_answers = {line.answer for line in judged}
    for (_, run), answers in differing.items():
        for answer in answers.keys() - judged_answers if run in COMPLETE else ():
            print("not judged:", run, *answer, file=sys.stderr)
    return [
        "## Verdicts on the differences",
        "",
        f"A language model read the sentences and judged {len(judged)} answers that differ from "
        "the paper's (bench/objects_judged.csv). There was no second annotator. The answers are "
        "all of those of the runs with Stanza, simplemma and no lemmatiser, each distinct answer "
        f"once, and a random sample of the baseline's others (seed 0). {gone} of them no longer "
        "occur. Both: correct with or without the head noun.",
        "",
        "Two parts of the rows in which Stanza's answer equals the paper's were read. A random "
        "sample of 50 per language is entirely correct (Wilson's interval: up to 7% wrong). Of "
        "all rows with a word other than the head noun after the object, "
        f"{len(read_alike())} are wrong in both: the object has another name in the sentence, and "
        "the match is in the subject, which contains the label (bench/objects_alike.csv).",
        "",
        "The last column counts as correct all answers equal to the paper's, except those known "
        "to be wrong in both, and the verdicts ours and both. Equal answers that were not read "
        "count as correct. If not all differing answers are judged, the share of the rest is "
        "estimated from the sample, with Wilson's 95% interval.",
        "",
        *tabulate_verdicts(rates),
        "",
        "Reasons for wrong answers, without the baseline. One answer can count in several columns:",
        "",
        *tabulate_errors(differing, judged, rates),
    ]
