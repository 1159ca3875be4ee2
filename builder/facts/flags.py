"""The flags of rows that a figure may leave out, by `schema.columns.FLAGS`."""

from collections.abc import Mapping, Sequence

from polyprobe.schema.columns import SECOND_ANSWERS, Row

from .labels import occurs

SEVERAL = ("P530",)  # relations whose rows have many correct distractors: no source lists them


def flag_rows(rows: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
    """Return parallel rows with their flags, the same in every language.

    A row is flagged in all languages if it is in one, so that the rows without a flag are parallel.
    """
    flags = [list_flags(parallel) for parallel in zip(*rows.values(), strict=True)]
    return {
        language: [row._replace(flags=own) for row, own in zip(part, flags, strict=True)]
        for language, part in rows.items()
    }


def list_flags(parallel: Sequence[Row]) -> list[str]:
    """Return the flags of one row in all languages."""
    found = {
        "answer_in_subject": any(
            occurs(row.candidates[index], row.subject) for row in parallel for index in row.answers
        ),
        SECOND_ANSWERS: parallel[0].relation in SEVERAL,
    }
    return [flag for flag, is_so in found.items() if is_so]
