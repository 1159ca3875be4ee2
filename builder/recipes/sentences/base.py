"""The base rows of a sentence version, and their sentences in the source language."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from polyprobe.builder.output.card import is_built, read_parquet
from polyprobe.schema.columns import SCHEMA, SLOT, Row
from polyprobe.system.errors import PolyprobeError, unknown

Base = dict[str, list[Row]]


class Filled(NamedTuple):
    """A row's prompt with the answer's label in the slot, from character `start` to `end`."""

    text: str
    start: int
    end: int


def read_base(folder: Path, config: str) -> Base:
    """Return {language: rows} of a configuration on disk, sorted by language."""
    if not is_built(folder, config):
        raise PolyprobeError(f"no configuration {config} in {folder}")
    base = {
        path.stem.replace("_", "-"): [
            Row(**row) for row in read_parquet(path).select(SCHEMA.names).to_pylist()
        ]
        for path in sorted((folder / "data" / config).glob("*.parquet"))
    }
    check_parallel(base, f"{folder}/{config}")
    return base


def check_parallel(base: Base, place: str) -> None:
    """Raise PolyprobeError unless each row has the same fact and answers in all languages."""
    first, *others = base
    keys = [(row.fact_id, row.answers, len(row.candidates)) for row in base[first]]
    for language in others:
        if [(row.fact_id, row.answers, len(row.candidates)) for row in base[language]] != keys:
            raise PolyprobeError(
                f"{place}: the splits {first} and {language} are not parallel; build it again"
            )


def choose_languages(base: Base, languages: Sequence[str], source: str, place: str) -> list[str]:
    """Return the target languages: the requested ones or all, except the source language.

    They are sorted, so that equal requests have equal results.
    """
    for language in (source, *languages):
        if language not in base:
            raise unknown("language", language, place, base)
    chosen = sorted({*(languages or base)} - {source})
    if not chosen:
        raise PolyprobeError(
            f"nothing to translate: {source} is the source language; name others with --languages"
        )
    return chosen


def answer_label(row: Row) -> str:
    """Return the label of the row's answer, or of the first of several."""
    return row.candidates[row.answers[0]]


def fill(row: Row) -> Filled:
    """Return the row's prompt with the label of its answer, uninflected.

    >>> fill(Row("f", "", "", "", "", "In [Y].", ["Oslo", "Rome"], [], [1], [], ""))
    Filled(text='In Rome.', start=3, end=7)
    """
    label = answer_label(row)
    start = row.prompt.index(SLOT)
    return Filled(row.prompt.replace(SLOT, label, 1), start, start + len(label))


def name_terms(source: Row, target: Row) -> dict[str, str]:
    """Return {source label: target label} of subject and answer."""
    pairs = ((source.subject, target.subject), (answer_label(source), answer_label(target)))
    return {own: other for own, other in pairs if own and other}
