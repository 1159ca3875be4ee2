"""The small dataset of facts.py with three relations and flags."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.making.facts import CITIES, write_facts

N = 16
RELATIONS = [("P36", "P37", "P530")[number % 3] for number in range(N)]
FLAGS = [
    [
        *(["second_answers"] if relation == "P530" else []),
        *(["answer_in_subject"] if number % 5 == 0 else []),
    ]
    for number, relation in enumerate(RELATIONS)
]
SCORED = [row for row in range(N) if not FLAGS[row]]  # by default


def write_flagged(folder: Path) -> Path:
    """Write 16 facts in three languages; those of P530 and each fifth have a flag."""
    write_facts(folder, copies=4)
    for language in CITIES:
        file = folder / "data" / "small" / f"{language}.parquet"
        table = pq.read_table(file)
        place = table.schema.get_field_index("relation")
        table = table.set_column(place, "relation", pa.array(RELATIONS))
        column = pa.array(FLAGS, pa.list_(pa.string()))
        pq.write_table(table.append_column("flags", column), file)
    return folder
