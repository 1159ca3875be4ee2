"""A dataset of four rows that are difficult for templates and tokenizers."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pyarrow as pa

from polyprobe.schema.columns import SCHEMA
from tests.making.datasets import write_dataset as write_tables

ROWS = {
    "en": [
        ("Oslo lies in [Y].", ["Norway", "Peru", "Scandinavia"], [0, 2]),
        ('In [Y] they say "don\'t" {{ twice }}.', ["Co'te", 'the "Isles"', "{% if %}"], [1]),
        ("A back\\slash and\na line: [Y]", ["a\\b", "two\nlines", "Ⅷ"], [2]),
        ("12 [Y]", ["[Z]", "12", "x y"], [0]),
    ],
    "ja": [
        ("オスロは[Y]にある。", ["ノルウェー", "ペルー", "北欧"], [0, 2]),
        ("[Y]では二度言う。", ["甲", "乙", "丙"], [1]),
        ("行は[Y]", ["甲", "乙", "丙"], [2]),
        (" [Y]です", ["甲", "乙", "丙"], [0]),
    ],
}


def write_dataset(folder: Path, rows=ROWS, config="default", **columns) -> Path:
    """Write the rows and their card; `columns` replaces columns by name, None removes one."""
    return write_tables(folder, {config: {x: make_table(y, columns) for x, y in rows.items()}})


def make_table(rows, columns) -> pa.Table:
    prompts, candidates, answers = zip(*rows, strict=True) if rows else ((), (), ())
    values = {
        "fact_id": [f"P1:Q{k}:Q0" for k in range(len(rows))],
        "relation": ["P1"] * len(rows),
        "prompt": list(prompts),
        "candidates": list(candidates),
        "answers": list(answers),
    } | columns
    kept = {name: value for name, value in values.items() if value is not None}
    return pa.table(
        {
            k: v if isinstance(v, pa.Array) else pa.array(v, SCHEMA.field(k).type)
            for k, v in kept.items()
        }
    )


def load_module(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
