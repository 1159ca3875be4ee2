"""Datasets on disk: a Parquet file for each language of a configuration, and their card."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from polyprobe.schema.columns import Row, to_table

Rows = pa.Table | Sequence[Row]


def write_dataset(
    folder: Path, configs: Mapping[str, Mapping[str, Rows]], default: str = "", head: str = ""
) -> Path:
    """Write rows by configuration and language; `head` begins the metadata of the card."""
    lines = [head] if head else []
    lines.append("configs:")
    for config, languages in configs.items():
        (folder / "data" / config).mkdir(parents=True, exist_ok=True)
        lines += [f"- config_name: '{config}'", *["  default: true"] * (config == default)]
        lines.append("  data_files:")
        for language, rows in languages.items():
            file = f"data/{config}/{language}.parquet"
            table = rows if isinstance(rows, pa.Table) else to_table(rows)
            pq.write_table(table, folder / file)
            lines += [f"  - split: {language}", f"    path: {file}"]
    text = "\n".join(["---", *lines, "---", f"# {folder.name}", ""])
    (folder / "README.md").write_text(text, encoding="utf-8")
    return folder
