"""The rows found in all languages, and the cost of each language."""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence

import polars as pl
import pyarrow as pa

from polyprobe.schema.columns import SENTENCES, SLOT, Row

from .base import Base
from .forms import Inflected
from .outcomes import FOUND, UNTRANSLATED, Outcome

COSTS = {
    "language": pl.String,
    "asked": pl.Int64,
    "translated": pl.Int64,
    "found": pl.Int64,
    "last": pl.Int64,
    "alone": pl.Int64,
    "kept": pl.Int64,
    "kept_last": pl.Int64,
}
LOST = {"language": pl.String, "status": pl.String, "rows": pl.Int64}


def find_common(inflected: Mapping[str, Inflected]) -> list[int]:
    """Return the numbers of the rows found in every language, sorted."""
    return sorted(set.intersection(*(set(part.candidates) for part in inflected.values())))


def find_kept(inflected: Mapping[str, Inflected]) -> list[int]:
    """Return the rows found in every language, without those of incomplete facts.

    A fact in several templates keeps all of its rows or none: rows are matched by fact and by
    number within the fact, which a missing row would shift.
    """
    [outcomes, *_] = [part.outcomes for part in inflected.values()]
    common = find_common(inflected)
    lost = {outcomes[n].fact_id for n in set(range(len(outcomes))).difference(common)}
    return [number for number in common if outcomes[number].fact_id not in lost]


def make_tables(
    base: Base, inflected: Mapping[str, Inflected], kept: Sequence[int]
) -> dict[str, pa.Table]:
    """Return {language: table of SENTENCES} of the kept rows, aligned by row number."""
    return {
        language: pa.Table.from_pylist(
            [make_row(base[language][n], part.outcomes[n], part.candidates[n]) for n in kept],
            schema=SENTENCES,
        )
        for language, part in inflected.items()
    }


def make_row(row: Row, outcome: Outcome, candidates: list[str]) -> dict[str, object]:
    """Return one row of SENTENCES: the base row with a prompt made from the translation."""
    prompt = cut(outcome)
    twin = row._replace(
        prompt=prompt,
        candidates=candidates,
        answer_forms=list(dict.fromkeys((outcome.label, outcome.form))),
    )
    return {**twin._asdict(), "object_last": is_last(prompt), "confidence": outcome.score}


def cut(outcome: Outcome) -> str:
    """Return the translation with the slot in place of the object."""
    text = outcome.translation
    return text[: outcome.start] + SLOT + text[outcome.end :]


def is_last(prompt: str) -> bool:
    """Return whether only punctuation and spaces follow the slot.

    >>> is_last("Die Hauptstadt ist [Y]."), is_last("[Y] ist die Hauptstadt.")
    (True, False)
    """
    rest = prompt.partition(SLOT)[2]
    return all(letter.isspace() or unicodedata.category(letter)[0] == "P" for letter in rest)


def count_costs(inflected: Mapping[str, Inflected], kept: Sequence[int]) -> pl.DataFrame:
    """Return the cost of each language (COSTS), in rows.

    `asked`, `translated`, `found` and `last` (found, with the object last) count the language's own
    rows. `alone` counts the rows missing only in this language: without it, the set would have as
    many more. `kept` and `kept_last` count rows of the set.
    """
    lines = []
    for language, part in inflected.items():
        last = {number for number in part.candidates if is_last(cut(part.outcomes[number]))}
        others = [set(other.candidates) for name, other in inflected.items() if name != language]
        lines.append(
            (
                language,
                len(part.outcomes),
                sum(outcome.status not in UNTRANSLATED for outcome in part.outcomes),
                len(part.candidates),
                len(last),
                len(set.intersection(*others) - set(part.candidates)),
                len(kept),
                len(last.intersection(kept)),
            )
        )
    return pl.DataFrame(lines, COSTS, orient="row")


def count_lost(inflected: Mapping[str, Inflected]) -> pl.DataFrame:
    """Return the number of lost rows by language and status (LOST), the most frequent first."""
    lines = [
        (language, status, count)
        for language, part in inflected.items()
        for status, count in Counter(outcome.status for outcome in part.outcomes).most_common()
        if status != FOUND
    ]
    return pl.DataFrame(lines, LOST, orient="row")
