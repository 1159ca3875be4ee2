"""Scores from elsewhere become a run: `polyprobe import` and `import_scores`."""

import csv
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from polyprobe.eval import import_scores
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import Run
from tests.making.facts import number_subjects, write_facts

NAMES = {"en": "English", "ru": "Russian", "zh_hans": "zh-Hans"}


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    return str(write_facts(tmp_path_factory.mktemp("facts"), number_subjects))


@pytest.fixture(scope="module")
def rows(facts):
    """The rows of the dataset with scores, as a list for each language."""
    rng = np.random.default_rng(0)
    tables = {x: table.to_pylist() for x, table in load_facts(facts).items()}
    for table in tables.values():
        for number, row in enumerate(table):
            row["row"] = number
            row["scores"] = rng.normal(size=len(row["candidates"])).tolist()
    return tables


def lines(rows, key, candidate="candidates"):
    """Return a table with a row for each candidate, which are shuffled."""
    return [
        {key: row[key], "language": NAMES[x], "candidate": row[candidate][k], "score": score}
        for x, table in rows.items()
        for row in table
        for k, score in reversed([*enumerate(row["scores"])])
    ]


def wide(rows):
    """Return a table with a column for each language, facts and candidates in English."""
    return [
        {"query": row["prompt"].replace("[Y]", "__"), "candidate": row["candidates"][k]}
        | {NAMES[x]: table[row["row"]]["scores"][k] for x, table in rows.items()}
        for row in rows["en"]
        for k in range(len(row["candidates"]))
    ]


def write(table, file):
    """Write a table to a file of the format of its name."""
    if file.suffix == ".parquet":
        pa.parquet.write_table(pa.Table.from_pylist(table), file)
    elif file.suffix == ".json":
        file.write_text(json.dumps(table))
    elif file.suffix == ".jsonl":
        file.write_text("".join(f"{json.dumps(row)}\n" for row in table))
    else:
        with file.open("w", encoding="utf-8-sig", newline="") as handle:
            delimiter = "\t" if file.suffix == ".tsv" else ","
            writer = csv.DictWriter(handle, [*table[0]], delimiter=delimiter)
            writer.writeheader()
            writer.writerows(table)
    return file


def by_fact(rows, make):
    return {x: {row["fact_id"]: make(row) for row in table} for x, table in rows.items()}


# All of the same scores; `file` is the folder of files.
SOURCES = {
    "long CSV, ids": lambda rows, file: write(lines(rows, "fact_id"), file / "a.csv"),
    "long TSV, row numbers": lambda rows, file: write(lines(rows, "row"), file / "a.tsv"),
    "long JSON lines, texts": lambda rows, file: write(lines(rows, "prompt"), file / "a.jsonl"),
    "long Parquet, ids of candidates": lambda rows, file: write(
        lines(rows, "fact_id", "candidate_ids"), file / "a.parquet"
    ),
    "wide CSV": lambda rows, file: write(wide(rows), file / "a.csv"),
    "wide JSON": lambda rows, file: write(wide(rows), file / "a.json"),
    "a file for each language": lambda rows, file: [
        write([{"fact_id": row["fact_id"], "scores": row["scores"]} for row in table], file / name)
        for table, name in zip(
            rows.values(), ("m_en.jsonl", "ru.json", "a.zh_hans.parquet"), strict=True
        )
    ],
    "pairs": lambda rows, _: by_fact(rows, lambda x: [[str(y), "False"] for y in x["scores"]]),
    "dictionaries": lambda rows, _: by_fact(
        rows, lambda x: dict(zip(x["candidates"], map(str, x["scores"]), strict=True))
    ),
    "lists in order": lambda rows, _: {x: [row["scores"] for row in y] for x, y in rows.items()},
    "arrays": lambda rows, _: by_fact(rows, lambda x: np.array(x["scores"])),
    "pandas": lambda rows, _: pd.DataFrame(lines(rows, "row")),
    "polars": lambda rows, _: pl.DataFrame(lines(rows, "fact_id")),
    "pyarrow": lambda rows, _: pa.Table.from_pylist(lines(rows, "fact_id")),
}


@pytest.mark.parametrize("source", SOURCES)
def test_sources(source, facts, rows, tmp_path):
    results = import_scores(SOURCES[source](rows, tmp_path), facts, output=tmp_path / "run")
    run = Run(tmp_path / "run")
    for language, table in rows.items():
        scores = run.read(language)["scores"].to_pylist()
        assert [pytest.approx(row["scores"], rel=1e-6) for row in table] == scores
    assert results["n_queries"] == 8
    assert run.settings().scoring == "scores"


def choose(rows, name):
    return by_fact(rows, lambda row: name(row, row["row"] % len(row["candidates"])))


CHOICES = {
    "text": lambda row, k: row["candidates"][k],
    "id": lambda row, k: row["candidate_ids"][k],
    "number": lambda row, k: k,
    "letter": lambda row, k: "ABCD"[k],
}


@pytest.mark.parametrize("name", CHOICES)
def test_choices(name, facts, rows):
    results = import_scores(choose(rows, CHOICES[name]), facts)
    right = [row["row"] % len(row["candidates"]) in row["answers"] for row in rows["en"]]
    assert results["accuracy"]["en"] == sum(right) / len(right)
    assert results["agreement"]["en-ru"] == results["kappa"] == 1
    assert not {"rankc", "rankc_adjusted", "recall_at_k", "rbo"} & {*results}
    assert all("rankc" not in floor for floor in results["floors"].values())


def test_a_letter_beyond_the_candidates_is_never_right_and_equals_no_other(facts, rows):
    letters = {x: {row["fact_id"]: "D" for row in table} for x, table in rows.items()}
    results = import_scores(letters, facts)
    right = sum(row["answers"] == [3] for row in rows["en"])
    four = sum(len(row["candidates"]) == 4 for row in rows["en"])
    assert four == 4
    assert results["accuracy"]["en"] == right / 8
    assert results["agreement"]["en-ru"] == four / 8
