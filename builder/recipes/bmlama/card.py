"""The parts of the card that only BMLAMA has: repairs, audit, judged candidates."""

import csv
from collections import Counter, defaultdict
from collections.abc import Sequence
from importlib.resources import files
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from polyprobe.builder.output.config import Config
from polyprobe.builder.output.tables import flags_table, markdown_table, repairs_table
from polyprobe.builder.sources import curated as readers
from polyprobe.builder.sources.bmlama.linked import REPAIRS

AUDIT, VERDICTS, SECOND = (
    Path(str(files(__package__).joinpath(name)))
    for name in ("audit.csv", "verdicts.csv", "second.csv")
)


class AuditLine(NamedTuple):
    """The audit of one language of a configuration; ceilings are against English.

    The accuracies without a model (`audit.baseline`) are those in English.
    """

    config: str
    language: str
    rows: int
    rows_parallel_in_all: int
    rows_not_parallel_to_en: int
    rows_with_second_answer: int
    rows_with_duplicate_labels: int
    rows_with_invisible_characters: int
    rows_with_mixed_alphabets: int
    answer_position_p_value: float
    accuracy_chance: float
    accuracy_frequency: float
    accuracy_frequency_without_p530: float
    ceiling_random: float
    ceiling_answer_first: float


def read_audit() -> list[AuditLine]:
    """Return the audit written by bench/bmlama_audit.py."""
    kinds = AuditLine.__annotations__
    rows = read_csv(AUDIT)
    return [AuditLine(**{name: kinds[name](row[name]) for name in row}) for row in rows]


def describe(configs: Sequence[Config]) -> dict[str, str]:
    """Return the parts of the card that only BMLAMA has."""
    lines = read_audit()
    return {
        "repairs": repairs_table(configs, REPAIRS),
        "audit": compare_audits(lines),
        "audit_languages": languages_table(lines),
        "verdicts": verdicts_table(),
        "draw": describe_draw(lines),
        "flags": flags_table(configs),
        "barred": barred(),
        "second": second_answers(),
    }


def describe_draw(lines: Sequence[AuditLine]) -> str:
    """Return the accuracy by frequent answers of each configuration, without a model."""
    by_config = {line.config: line for line in lines}
    figures = ", ".join(
        f"{line.accuracy_frequency:.3f} in `{name}` "
        f"({line.accuracy_frequency_without_p530:.3f} without P530)"
        for name, line in by_config.items()
    )
    return (
        "A ranking of the candidates by how many other rows of the relation they answer, which "
        f"reads no subject, has an accuracy of {figures}."
    )


def compare_audits(lines: Sequence[AuditLine]) -> str:
    """Return one line for each figure and one column for each configuration."""
    names = list(dict.fromkeys(line.config for line in lines))
    groups = [[line for line in lines if line.config == name] for name in names]

    def same(field: str, form: str) -> list[str]:
        return [format(getattr(part[0], field), form) for part in groups]

    def worst(field: str) -> list[str]:
        tops = [max(part, key=attrgetter(field)) for part in groups]
        return [f"{n:,} ({top.language})" if (n := getattr(top, field)) else "0" for top in tops]

    def lowest(field: str) -> list[str]:
        tops = [min(part, key=attrgetter(field)) for part in groups]
        return [
            f"{v:.3f} ({top.language})" if (v := getattr(top, field)) < 1 else "1" for top in tops
        ]

    positions = [f"{min(line.answer_position_p_value for line in part):.2g}" for part in groups]
    rows = {
        "rows": same("rows", ","),
        "parallel in all languages": same("rows_parallel_in_all", ","),
        "not parallel to English, worst language": worst("rows_not_parallel_to_en"),
        "with a second correct answer, worst language": worst("rows_with_second_answer"),
        "with a duplicate label": worst("rows_with_duplicate_labels"),
        "with invisible characters": worst("rows_with_invisible_characters"),
        "with a word that mixes alphabets": worst("rows_with_mixed_alphabets"),
        "position of the answer, p-value of uniformity": positions,
        "accuracy by chance": same("accuracy_chance", ".3f"),
        "accuracy by frequent answers": same("accuracy_frequency", ".3f"),
        "accuracy by frequent answers, without P530": same(
            "accuracy_frequency_without_p530", ".3f"
        ),
        "RankC ceiling against English, random": lowest("ceiling_random"),
        "RankC ceiling against English, answer first": lowest("ceiling_answer_first"),
    }
    return markdown_table(
        ("", *(f"`{name}`" for name in names)), ((title, *row) for title, row in rows.items())
    )


def languages_table(lines: Sequence[AuditLine]) -> str:
    """Return one line for each language of `17` as published."""
    rows = [
        (
            line.language,
            line.rows_not_parallel_to_en,
            line.rows_with_second_answer,
            line.rows_with_invisible_characters,
            f"{line.ceiling_random:.3f}",
            f"{line.ceiling_answer_first:.3f}",
        )
        for line in lines
        if line.config == "17"
    ]
    head = ("language", "not parallel", "second answer", "invisible characters")
    return markdown_table((*head, "ceiling, random", "ceiling, answer first"), rows)


def verdicts_table() -> str:
    """Return one line for each language: judged and wrong candidates, Wilson's 95% interval."""
    verdicts = read_csv(VERDICTS)
    languages = sorted({row["language"] for row in verdicts})
    parts = {x: [row for row in verdicts if row["language"] == x] for x in languages}
    rows = []
    for name, part in {**parts, "all": verdicts}.items():
        wrong = sum(row["verdict"] != "right" for row in part)
        rows.append((name, f"{len(part)}", f"{wrong}", format_wilson(wrong, len(part))))
    return markdown_table(("language", "judged", "wrong", "error rate, 95% interval"), rows)


def barred() -> str:
    """Return the number of distractors excluded by readers, by verdict."""
    verdicts = Counter(row["verdict"] for row in read_csv(readers.FOUND))
    return (
        f"{verdicts['found']:,} that are correct or arguably so, {verdicts['possible']:,} that may "
        f"be correct (twin cities), and {verdicts['unfit']:,} that would be insulting"
    )


def second_answers() -> str:
    """Return the number of rows read that have a correct or arguable distractor."""
    by_row = defaultdict(set)
    for row in read_csv(SECOND):
        by_row[row["published_row"]].add(row["verdict"])
    right = sum("right" in verdicts for verdicts in by_row.values())
    more = sum(verdicts != {"none"} for verdicts in by_row.values()) - right
    total = len(by_row)
    return (
        f"Of these {total} rows, {right} ({format_wilson(right, total)}) had a distractor that "
        f"is also correct, and {more} more ({format_wilson(more, total)}) one that is arguably "
        "correct."
    )


def format_wilson(count: int, total: int) -> str:
    """Return a share with Wilson's 95% interval."""
    from scipy.stats import binomtest  # here: only this card needs SciPy, which takes 0.4 s

    interval = binomtest(count, total).proportion_ci(method="wilson")
    return f"{count / total:.1%}, {interval.low:.1%} to {interval.high:.1%}"


def read_csv(path: Path) -> list[dict[str, str]]:
    """Return the lines of a CSV file in this folder."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
