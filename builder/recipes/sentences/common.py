"""What all languages have: the twin's rows, and what each language cost."""

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
    """Return the rows that were found in every language, in their order."""
    return sorted(set.intersection(*(set(part.candidates) for part in inflected.values())))


def find_kept(inflected: Mapping[str, Inflected]) -> list[int]:
    """Return those of the rows found in every language whose fact has all of its rows there.

    Of a fact told in several templates the twin has all rows or none: twins are matched by fact
    and by number among its rows, which a lost one would shift.
    """
    [outcomes, *_] = [part.outcomes for part in inflected.values()]
    common = find_common(inflected)
    lost = {outcomes[n].fact_id for n in set(range(len(outcomes))).difference(common)}
    return [number for number in common if outcomes[number].fact_id not in lost]


def make_tables(
    base: Base, inflected: Mapping[str, Inflected], kept: Sequence[int]
) -> dict[str, pa.Table]:
    """Return {language: table of SENTENCES} of the rows kept, the same number the same fact."""
    return {
        language: pa.Table.from_pylist(
            [make_row(base[language][n], part.outcomes[n], part.candidates[n]) for n in kept],
            schema=SENTENCES,
        )
        for language, part in inflected.items()
    }


def make_row(row: Row, outcome: Outcome, candidates: list[str]) -> dict[str, object]:
    """Return one line of SENTENCES: the base's row with the prompt cut from the translation."""
    prompt = cut(outcome)
    twin = row._replace(
        prompt=prompt,
        candidates=candidates,
        answer_forms=list(dict.fromkeys((outcome.label, outcome.form))),
    )
    return {**twin._asdict(), "object_last": is_last(prompt), "confidence": outcome.score}


def cut(outcome: Outcome) -> str:
    """Return the translation with the slot in the object's place."""
    text = outcome.translation
    return text[: outcome.start] + SLOT + text[outcome.end :]


def is_last(prompt: str) -> bool:
    """Tell whether nothing but punctuation and blanks stands behind the slot.

    >>> is_last("Die Hauptstadt ist [Y]."), is_last("[Y] ist die Hauptstadt.")
    (True, False)
    """
    rest = prompt.partition(SLOT)[2]
    return all(letter.isspace() or unicodedata.category(letter)[0] == "P" for letter in rest)


def count_costs(inflected: Mapping[str, Inflected], kept: Sequence[int]) -> pl.DataFrame:
    """Return what each language costs (COSTS), in rows.

    `asked`, `translated`, `found` and `last` (found, the object last) are the language's own;
    `alone` is how many rows every other language has and this one alone lacks, so that the set
    would have as many more without it; `kept` and `kept_last` are what the set has.
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
    """Return how many rows of each language were lost to what (LOST), by number of rows."""
    lines = [
        (language, status, count)
        for language, part in inflected.items()
        for status, count in Counter(outcome.status for outcome in part.outcomes).most_common()
        if status != FOUND
    ]
    return pl.DataFrame(lines, LOST, orient="row")
