"""The flags of rows that a figure may leave out, as columns.toml of `builder.output` names them."""

from collections.abc import Iterable, Mapping, Sequence

from polyprobe.schema.columns import ANSWER_IN_SUBJECT, SECOND_ANSWERS, Row

from .labels import UNSPACED, find_script, fold

_WITHOUT_SPACES = (*UNSPACED, "CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA")
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
    """Return the flags of each row, by the labels of its subject and answers in each language."""
    # A row is flagged in all languages if it is in one: the rows without a flag are parallel.
    inside = {
        number
        for questions in languages
        for number, (subject, answers) in enumerate(questions)
        if any(occurs(label, subject) for label in answers)
    }
    return [
        [ANSWER_IN_SUBJECT] * (number in inside) + [SECOND_ANSWERS] * (relation in SEVERAL)
        for number, relation in enumerate(relations)
    ]


def occurs(label: str, text: str) -> bool:
    """Return whether a text contains a label, compared by `fold`.

    >>> occurs("guinea", "Equatorial Guinea"), occurs("Oman", "Romania"), occurs("木", "木星")
    (True, False, True)
    """
    # At each end of the label, a letter, digit or mark of the text must not continue it, unless it
    # is in a script without spaces between words.
    text, label = fold(text), fold(label)
    start = text.find(label) if label else -1
    while start >= 0:
        end = start + len(label)
        if _ends_word(text[:start][-1:], label[0]) and _ends_word(text[end:][:1], label[-1]):
            return True
        # The next occurrence may end at a word: `guinea` in `guineas of guinea`.
        start = text.find(label, start + 1)
    return False


def _ends_word(outside: str, inside: str) -> bool:
    """Return whether a word may end between two neighbours; `outside` may be empty."""
    if not outside.isalnum() and not find_script(outside or " "):
        return True
    return find_script(outside) in _WITHOUT_SPACES or find_script(inside) in _WITHOUT_SPACES
