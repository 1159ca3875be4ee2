"""A small dataset without defects, as tables, and a function that changes single cells."""

import pyarrow as pa

from polyprobe.schema.columns import Row, to_table

CLEAN = {
    "en": [
        ("P17", "Oslo", "Oslo lies in [Y].", ["Norway", "Peru", "Chad"], 0),
        ("P17", "Lima", "Lima lies in [Y].", ["Chad", "Peru", "Norway"], 1),
        ("P17", "Moundou", "Moundou lies in [Y].", ["Peru", "Norway", "Chad"], 2),
    ],
    "fr": [
        ("P17", "Oslo", "Oslo est en [Y].", ["Norvège", "Pérou", "Tchad"], 0),
        ("P17", "Lima", "Lima est en [Y].", ["Tchad", "Pérou", "Norvège"], 1),
        ("P17", "Moundou", "Moundou est en [Y].", ["Pérou", "Norvège", "Tchad"], 2),
    ],
}
IDS = [["Q20", "Q419", "Q657"], ["Q657", "Q419", "Q20"], ["Q419", "Q20", "Q657"]]


def make_rows(language: str, rows=None) -> list[Row]:
    return [
        Row(
            fact_id=f"f{number}",
            relation=relation,
            subject_id="",
            object_id="",
            subject=subject,
            prompt=prompt,
            candidates=candidates,
            candidate_ids=[],
            answers=[answer],
            answer_forms=[],
            template_id="",
        )
        for number, (relation, subject, prompt, candidates, answer) in enumerate(
            (rows or CLEAN)[language]
        )
    ]


def make_tables(changes=(), rows=None) -> dict[str, pa.Table]:
    """Return the tables; changes are (language, row, {column: value})."""
    made = {language: make_rows(language, rows) for language in rows or CLEAN}
    for language, number, values in changes:
        made[language][number] = made[language][number]._replace(**values)
    return {language: to_table(own) for language, own in made.items()}


def with_ids() -> list:
    """Return the changes that add an id to every candidate."""
    return [(lang, i, {"candidate_ids": ids}) for lang in CLEAN for i, ids in enumerate(IDS)]
