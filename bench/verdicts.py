"""Compare verdicts on free answers with those of a judge and of KLAR, and measure their speed.

    python -m bench verdicts [ORACLES]        writes bench/verdicts.md

ORACLES is a folder with x-fakt-answers.zip and klar-answers.zip (default: ../shared/oracles).
"""

import csv
import io
import json
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from polyprobe.builder.recipes.xfakt import FILES, NAMES, list_names
from polyprobe.metrics.shared.verdicts import Containment, Judge

from .machine import find_cpu

ORACLES = Path(__file__).parents[2] / "shared" / "oracles"
READING = Path(__file__).with_suffix(".csv")
COUNTED = 100_000  # answers whose time is given
WHO = ("ours", "judge", "neither clear")


def main(argv: Sequence[str] = ()) -> None:
    """Judge all answers with each method, count, write the page."""
    folder = Path(argv[0]) if argv else ORACLES
    tables, seconds = judge_xfakt(folder / "x-fakt-answers.zip")
    n = sum(len(rows) for rows in tables.values())
    each = seconds / n
    speed = (
        f"{n:,} answers in {seconds:.1f} s: {1 / each:,.0f} a second, {COUNTED * each:.0f} s for"
    )
    text = "\n".join(
        [
            "# Verdicts on free answers",
            "",
            f"`python -m bench verdicts`, one core of {find_cpu()}. Names: {speed} {COUNTED:,}.",
            "",
            *tabulate_xfakt(tables),
            "",
            *tabulate_klar(folder / "klar-answers.zip"),
            "",
        ]
    )
    print(text)
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


def read_answers(path: Path) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Yield the language and the rows of each file of answers."""
    codes = {name: code for code, name in FILES.items()}
    with zipfile.ZipFile(path) as archive:
        for file in archive.namelist():
            name = Path(file).stem
            if name in codes:
                with io.TextIOWrapper(archive.open(file), encoding="utf-8", newline="") as lines:
                    yield codes[name], [*csv.DictReader(lines)]


def make_pool(files: Sequence[tuple[str, list[dict[str, str]]]]) -> dict[str, dict[str, list[str]]]:
    """Make {country: {language: names}}; the first name is that of the release."""
    isos = {name: iso for iso in NAMES for name in list_names("en", iso, "")}
    english = next(rows for language, rows in files if language == "en")
    pool: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for language, rows in files:
        for row, of in zip(rows, english, strict=True):
            names = list_names(language, isos[of["answers"]], row["answers"])
            pool[of["answers"]].setdefault(language, names)
    return pool


def judge_xfakt(path: Path) -> tuple[dict[str, list[tuple[str, bool, str]]], float]:
    """Return (verdict, whether it contains the name, judge's text) by language, and seconds."""
    files = [*read_answers(path)]
    pool = make_pool(files)
    judges = {language: (Judge(pool, language), Containment(pool, language)) for language in FILES}
    english = next(rows for language, rows in files if language == "en")
    tables, seconds = defaultdict(list), 0.0
    for language, rows in files:
        names, contains = judges[language]
        asked = [
            (row["Predicted"], row["Question"], [of["answers"]])
            for row, of in zip(rows, english, strict=True)
        ]
        start = time.process_time()
        kinds = [names.read(*answer).kind for answer in asked]
        seconds += time.process_time() - start
        plain = [contains.read(*answer).kind == "right" for answer in asked]
        texts = [row["llm_output"] for row in rows]
        tables[language] += zip(kinds, plain, texts, strict=True)
    return tables, seconds


def measure_kappa(pairs: Sequence[tuple[bool, bool]]) -> float:
    """Return Cohen's kappa."""
    ours, theirs = (fmean(column) for column in zip(*pairs, strict=True))
    chance = ours * theirs + (1 - ours) * (1 - theirs)
    return (fmean(a == b for a, b in pairs) - chance) / (1 - chance)


def tabulate_xfakt(tables: Mapping[str, Sequence[tuple[str, bool, str]]]) -> list[str]:
    """Return the introduction and the table of agreement with the judge."""
    with READING.open(encoding="utf-8", newline="") as file:
        read = Counter((row["language"], row["who"]) for row in csv.DictReader(file))
    lines, kappas = [], []
    for language, rows in tables.items():
        judged = [(kind, plain, "[4]" not in text) for kind, plain, text in rows]
        kappas.append(
            (
                measure_kappa([(kind.startswith("right"), right) for kind, _, right in judged]),
                measure_kappa([(plain, right) for _, plain, right in judged]),
            )
        )
        counts = [read[language, who] for who in WHO]
        cells = [language, f"{len(rows):,}", *(f"{x:.3f}" for x in kappas[-1]), *counts]
        cells.insert(4, f"{share_language(rows):.3f}" if language != "en" else "-")
        lines.append(f"| {' | '.join(map(str, cells))} |")
    means = [fmean(column) for column in zip(*kappas, strict=True)]
    total = [sum(read[language, who] for language in tables) for who in WHO]
    cells = ["all", f"{sum(map(len, tables.values())):,}", *(f"{x:.3f}" for x in means), "", *total]
    return [
        "## X-FaKT",
        "",
        "The answers of seven chat models to the 802 questions of X-FaKT in 13 languages, with the "
        "text of a judging model; `[4]` in it is wrong, all else right. κ: with the judge, of our "
        "verdicts and of containment of the release's name. Language: of the answers that both "
        "call right, the share whose language (asked, English, another) is that of the judge's "
        "rating, 1 to 3. All: the mean of κ.",
        "",
        "Read: 300 disagreements, spread over languages, that a language model read one by one "
        "(bench/verdicts.csv: the row of the language's file, from 0). There was no second reader. "
        "They are those of an earlier version (mean κ .857); the commonest of our mistakes, *that* "
        "read as Thai and names of languages, are mended since. In Swahili the judge calls many "
        "right names in English wrong.",
        "",
        "| language | answers | κ | κ of containment | language | read: ours right | the judge | "
        "not clear |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *lines,
        f"| {' | '.join(map(str, cells))} |",
    ]


def share_language(rows: Sequence[tuple[str, bool, str]]) -> float:
    """Return the share of right answers whose language is that of the judge's rating."""
    ratings = ("[1]", "[2]", "[3]")
    kinds = ("right", "right_english", "right_other")
    marks = [(kind, [x in text for x in ratings]) for kind, _, text in rows if kind in kinds]
    return fmean(kind == kinds[x.index(True)] for kind, x in marks if sum(x) == 1)


def judge_klar(records: Sequence[Mapping[str, Any]]) -> list[tuple[str, bool, bool, bool]]:
    """Return (language, flag, containment, our verdict) of each record of a model."""
    facts: dict[Any, dict[str, str]] = defaultdict(dict)
    for record in records:
        facts[record["relation"], record["index"]][record["language"]] = record["target"]
    pools: dict[str, Any] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for (relation, _), targets in facts.items():
        for language, target in targets.items():  # an object is known by its Spanish name
            pools[relation][targets["es"]][language].append(target)
    judges: dict[Any, Judge] = {}
    rows = []
    for record in records:
        key = record["relation"], record["language"]
        if key not in judges:
            judges[key] = Judge(pools[key[0]], key[1])
        entity = facts[record["relation"], record["index"]]["es"]
        ours = judges[key].read(record["pred"], record["subject"], [entity])
        plain = Containment({"": {"": [record["target"]]}}, "").read(record["pred"], "", [""])
        flags = bool(record["correct"]), plain.kind == "right", ours.kind.startswith("right")
        rows.append((key[1], *flags))
    return rows


def tabulate_klar(path: Path) -> list[str]:
    """Return the table of accuracies on KLAR."""
    lines, n, equal = [], 0, 0
    with zipfile.ZipFile(path) as archive:
        models = [json.loads(archive.read(name)) for name in archive.namelist()]
    tables = {model["model"]: judge_klar(model["records"]) for model in models}
    for name, rows in tables.items():
        n, equal = n + len(rows), equal + sum(row[1] == row[2] for row in rows)
        for way in (1, 3):
            by_language = defaultdict(list)
            for row in rows:
                by_language[row[0]].append(row[way])
            cells = [fmean(row[way] for row in rows), *map(fmean, by_language.values())]
            title = f"{name} | {'flags' if way == 1 else 'names'}"
            lines.append(f"| {title} | {' | '.join(f'{x:.3f}' for x in cells)} |")
    return [
        "## KLAR",
        "",
        f"The answers of five models. Containment gives {equal:,} of the {n:,} published flags. "
        "Accuracy by the flags and by our verdicts, whose pool are the answers of a relation in "
        "the six languages, none in English. The order of the models is the same over all "
        "languages; in Spanish the best two change places. There more than half of the gain of the "
        "first two models are forms of one word, inglés as *inglese* or *ingleño*.",
        "",
        f"| model | by | all | {' | '.join(by_language)} |",
        f"| --- | --- | ---: | {'---: | ' * len(by_language)}".rstrip(),
        *lines,
    ]
