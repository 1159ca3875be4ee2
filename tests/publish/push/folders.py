"""Small folders that pass all checks, from the embedded dataset and our metrics."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from polyprobe.builder.output.folder import write_card, write_split
from polyprobe.builder.recipes import geofacts
from polyprobe.publish.source import bundle

ROOT = Path(__file__).parents[3]


def small_dataset(folder: Path, rows: int = 20, splits: tuple[str, ...] = ("en", "fr")) -> Path:
    (folder / "data" / "default").mkdir(parents=True)
    for split in splits:
        path = Path("data", "default", f"{split}.parquet")
        table = pq.read_table(ROOT / "datasets" / "geofacts" / path).slice(0, rows)
        write_split(table, folder / path)
    write_card(folder, "geofacts", ["default"], geofacts)
    return folder


def metric(folder: Path, name: str = "rankc") -> Path:
    return bundle(ROOT / "metrics" / name, folder)


def change(path: Path, **columns: pa.Array) -> None:
    table = pq.read_table(path)
    for name, column in columns.items():
        table = table.set_column(table.column_names.index(name), name, column)
    pq.write_table(table, path)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
