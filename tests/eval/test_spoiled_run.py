"""Runs with truncated, changed or missing files: one-line errors."""

import json
import math
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from polyprobe.analysis.figures.compute import compute_results
from polyprobe.schema.run.folder import Run
from polyprobe.system.messages import PolyprobeError
from tests.making.facts import write_facts
from tests.making.runs import SCORES, reseal, write_run


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "run.json holds list, expected a JSON object"),
        ("{", "run.json is not readable JSON"),
        ('{"a": 1}', "run.json was changed after it was written"),
    ],
)
def test_a_spoiled_run_json_is_named(text, message, tmp_path):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(PolyprobeError, match=message):
        compute_results(Run(tmp_path))


def put_text(file):
    table = pq.read_table(file)
    pq.write_table(table.set_column(3, "scores", pa.array(["1"] * len(table))), file)


def cut(file):
    file.write_bytes(file.read_bytes()[:100])


def put_nan(file):
    table = pq.read_table(file)
    scores = table["scores"].to_pylist()
    scores[2][0] = math.nan
    column = pa.array(scores, table.schema.field(3).type)
    pq.write_table(table.set_column(3, table.schema.field(3), column), file)


def drop_row(file):
    pq.write_table(pq.read_table(file).slice(1), file)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (cut, "scores/ru.parquet was changed after it was written; delete it and repeat"),
        (put_nan, "scores/ru.parquet was changed after it was written"),
        (os.unlink, "scores/ru.parquet is missing; repeat the command of the run"),
    ],
)
def test_changed_scores_are_named(spoil, message, tmp_path):
    run = write_run(tmp_path / "run", write_facts(tmp_path / "facts"), SCORES)
    spoil(run.folder / "scores" / "ru.parquet")
    refused(run, message)


def refused(run, message):
    with pytest.raises(PolyprobeError) as error:
        compute_results(run)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (cut, "scores/ru.parquet is not readable Parquet"),
        (put_nan, "language 'ru', row 3: scores has a number that is not finite"),
        (put_text, "scores/ru.parquet has other columns than fact_id (string)"),
        (drop_row, "scores/ru.parquet has other facts than scores/en.parquet"),
    ],
)
def test_spoiled_scores_with_their_checksum_are_named(spoil, message, tmp_path):
    run = write_run(tmp_path / "run", write_facts(tmp_path / "facts"), SCORES)
    spoil(run.folder / "scores" / "ru.parquet")
    reseal(run.folder)
    refused(Run(run.folder), message)


def test_files_without_their_checksum_are_refused(tmp_path):
    run = write_run(tmp_path / "run", write_facts(tmp_path / "facts"), SCORES)
    results = run.read_results()
    values = json.loads((run.folder / "run.json").read_text())
    bare = {name: value for name, value in values.items() if name not in ("files", "sha256")}
    for files in ({}, {"files": {}}):
        (run.folder / "run.json").write_text(json.dumps({**bare, **files}))
        refused(Run(run.folder), "run.json was changed after it was written; evaluate into another")
    (run.folder / "run.json").write_text(json.dumps(values))
    (run.folder / "results.json").write_text(json.dumps(results))
    with pytest.raises(PolyprobeError, match="results.json was changed .*`polyprobe metrics"):
        Run(run.folder).read_results()


def test_other_settings_than_this_version_has_are_named(tmp_path):
    run = write_run(tmp_path / "run", write_facts(tmp_path / "facts"), SCORES)
    reseal(run.folder, without=("attention",))
    refused(Run(run.folder), "run.json is of another version: attention is missing")
    reseal(run.folder, attention="sdpa", colour="red")
    refused(Run(run.folder), "run.json is of another version: colour is new")
