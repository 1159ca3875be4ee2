"""Folders without a card: files named by languages are the splits, all others are refused."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from polyprobe.schema.columns import to_table
from polyprobe.schema.load import load_facts
from polyprobe.system.errors import PolyprobeError
from tests.making.facts import CITIES, rows

NEEDED = ("fact_id", "relation", "prompt", "candidates", "answers")


def write_jsonl(table: pa.Table, path: Path) -> None:
    lines = [json.dumps(row, ensure_ascii=False) for row in table.to_pylist()]
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")


WRITERS = {".parquet": pq.write_table, ".jsonl": write_jsonl}


def write_files(folder: Path, suffix: str, names=tuple(CITIES)) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for language, name in zip(CITIES, names, strict=False):
        WRITERS[suffix](to_table(rows(language)).select(NEEDED), folder / f"{name}{suffix}")
    return folder


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("card", [None, "# Facts\n", "---\nlicense: mit\n---\n# Facts\n"])
def test_files_named_by_languages_are_the_splits(suffix, card, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = write_files(tmp_path / "datasets" / "mine", suffix, ("en", "ru", "zh-hans"))
    if card:
        (folder / "README.md").write_text(card, encoding="utf-8")
    tables = load_facts("mine")
    assert list(tables) == ["en", "ru", "zh_hans"]
    for language, table in tables.items():
        expected = [{name: row._asdict()[name] for name in NEEDED} for row in rows(language)]
        assert table.select(NEEDED).to_pylist() == expected
    assert list(load_facts(str(folder), languages=["ru"])) == ["ru"]


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_card_names_the_files_of_any_format(suffix, tmp_path):
    folder = write_files(tmp_path / "mine", suffix, ("a", "b", "c"))
    lines = [f"  - split: {x}\n    path: {y}{suffix}\n" for x, y in zip(CITIES, "abc", strict=True)]
    card = "---\nconfigs:\n- config_name: default\n  data_files:\n" + "".join(lines) + "---\n"
    (folder / "README.md").write_text(card, encoding="utf-8")
    assert list(load_facts(str(folder))) == list(CITIES)


@pytest.mark.parametrize(
    "names",
    [("train",), ("facts",), ("en", "facts"), ("train", "test"), ("en", "test")],
    ids=" ".join,
)
def test_other_names_are_refused_in_one_line(names, tmp_path):
    folder = write_files(tmp_path / "mine", ".parquet", names)
    with pytest.raises(PolyprobeError, match=r"splits .* instead of one for each .* en\.parquet"):
        load_facts(str(folder))


def test_two_formats_are_refused(tmp_path):
    folder = write_files(tmp_path / "mine", ".parquet", ("en",))
    write_files(folder, ".jsonl", ("fr",))
    with pytest.raises(PolyprobeError, match="instead of one for each language"):
        load_facts(str(folder))


def test_a_csv_has_no_lists(tmp_path):
    """Hence a CSV of rows is refused by its columns, not read as one language."""
    for language in ("en", "ru"):
        table = pa.table({name: ["[Y]"] for name in NEEDED})
        pyarrow.csv.write_csv(table, tmp_path / f"{language}.csv")
    with pytest.raises(PolyprobeError, match="language 'en': column 'candidates' is .*string;"):
        load_facts(str(tmp_path))
