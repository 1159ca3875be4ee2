"""The flags of rows that a figure may leave out, by `schema.columns.FLAGS`."""

from collections.abc import Iterable, Mapping, Sequence

from polyprobe.schema.columns import SECOND_ANSWERS, Row

from .labels import occurs

SEVERAL = ("P530",)  # relations whose rows have many correct distractors: no source lists them


def flag_rows(rows: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
    """Return parallel rows with their flags, the same in every language."""
    relations = [row.relation for row in next(iter(rows.values()))]
    questions = (
        [(row.subject, [row.candidates[index] for index in row.answers]) for row in part]
        for part in rows.values()
    )
    flags = find_flags(relations, questions)
    return {
        language: [
            row._replace(flags=row_flags) for row, row_flags in zip(part, flags, strict=True)
        ]
        for language, part in rows.items()
    }


def find_flags(
    relations: Sequence[str], languages: Iterable[Iterable[tuple[str, Sequence[str]]]]
) -> list[list[str]]:
    """Return the flags of each row, by the labels of its subject and answers in each language.

    A row is flagged in all languages if it is in one, so that the rows without a flag are parallel.
    """
    inside = {
        number
        for questions in languages
        for number, (subject, answers) in enumerate(questions)
        if any(occurs(label, subject) for label in answers)
    }
    return [
        ["answer_in_subject"] * (number in inside) + [SECOND_ANSWERS] * (relation in SEVERAL)
        for number, relation in enumerate(relations)
    ]
