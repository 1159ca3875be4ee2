"""Raw BMLAMA: a folder of released TSVs (en.tsv, fr.tsv, …) as tables of our schema."""

import csv
import io
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import pyarrow as pa

from polyprobe.schema.columns import SLOT, Row, to_table
from polyprobe.system.errors import PolyprobeError, unknown

from .files import BLOCKS, MASK, PUBLISHED, Record, parse_records, recover_relations

FIELDS = ("prompt", "answer", "candidates", "subject")


def is_raw(folder: Path) -> bool:
    """Return whether the folder contains TSVs and no Parquet files."""
    return any(folder.glob("*.tsv")) and not any(folder.rglob("*.parquet"))


def read_raw(folder: Path, languages: Sequence[str] | None = None) -> dict[str, pa.Table]:
    """Return {language: table} of the folder's TSVs, in the requested order or sorted by language.

    `relation` is recovered if the English templates have the blocks of BMLAMA-17 or 53. Otherwise
    it is `block-N`. Without English, the blocks are those of the first language.
    """
    paths = {path.stem.replace("-", "_"): path for path in sorted(folder.glob("*.tsv"))}
    for language in languages or ():
        if language not in paths:
            raise unknown("language", language, str(folder), paths)
    records = {language: read_tsv(paths[language]) for language in languages or paths}
    relations = find_relations(records.get("en") or next(iter(records.values())))
    return {language: make_table(own, relations) for language, own in records.items()}


def read_tsv(path: Path) -> list[Record]:
    """Return the records of a released file; raise PolyprobeError if it is not valid."""
    try:
        content = path.read_bytes()
        records = parse_records(content)
    except UnicodeDecodeError as error:
        raise PolyprobeError(
            f"{path} is not UTF-8 (byte {error.start}); unpack it again"
        ) from error
    except (ValueError, csv.Error, StopIteration) as error:
        raise PolyprobeError(f"{path}{find_fault(content)}; unpack it again") from error
    except OSError as error:
        raise PolyprobeError(f"cannot read {path}: {error.strerror or error}") from error
    if not records:
        raise PolyprobeError(f"{path} has no rows; unpack it again")
    return records


def find_fault(content: bytes) -> str:
    """Return the first fault of a file as the end of a sentence, with its row if known."""
    lines = csv.reader(io.StringIO(content.decode("utf-8"), newline=""), delimiter="\t")
    try:
        for number, line in enumerate(lines):
            if number and len(line) != len(FIELDS):
                return f", row {number} has {len(line)} columns; expected {', '.join(FIELDS)}"
    except csv.Error as error:
        return f": {error}"
    return " is no table of four columns: a quotation mark is left open, or it is empty"


def find_relations(records: Sequence[Record]) -> list[str]:
    """Return the relation of each row, or `block-N` if the blocks are unknown."""
    for column in range(len(PUBLISHED)):
        try:
            return recover_relations(records, BLOCKS, column)
        except ValueError:
            continue
    templates = [record.prompt.replace(record.subject, "[X]") for record in records]
    starts = [
        number == 0 or template != templates[number - 1]
        for number, template in enumerate(templates)
    ]
    return [f"block-{number}" for number in accumulate(starts)]


def make_table(records: Sequence[Record], relations: Sequence[str]) -> pa.Table:
    """Return one language's table; rows after the last one of `relations` have none."""
    known = [*relations, *[""] * len(records)]
    return to_table(
        [
            Row(
                fact_id=f"{number:04}",
                relation=known[number - 1],
                subject_id="",
                object_id="",
                subject=record.subject,
                prompt=record.prompt.replace(MASK, SLOT),
                candidates=record.candidates,
                candidate_ids=[],
                answers=[i for i, name in enumerate(record.candidates) if name == record.answer],
                answer_forms=[record.answer],
                template_id="",
            )
            for number, record in enumerate(records, start=1)
        ]
    )
