"""Accuracy by the popularity of the facts, counted by hand."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from polyprobe.analysis.figures.compute import find_results
from polyprobe.analysis.figures.options import MetricOptions
from polyprobe.analysis.figures.parts import split_popularity
from polyprobe.analysis.options import Bootstrap
from polyprobe.cli import app
from polyprobe.metrics.accuracy_at_1.formulas import right_probability
from polyprobe.schema.columns import fingerprint
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import PREDICTIONS, Run
from polyprobe.schema.run.rows import make_choice
from polyprobe.system.messages import PolyprobeError
from tests.making.facts import CITIES, write_facts
from tests.making.relations import LANGUAGES, RELATIONS, N, write_scores
from tests.making.runs import make_settings

ASKED = MetricOptions(popularity=True)
COUNTS = [None if n == 7 else (n * 7 % 40) // 2 for n in range(N)]  # pairs of equal numbers


def add_column(dataset, values, kind=None):
    """Add `popularity` to the rows of every language."""
    kind = pa.int32() if kind is None else kind
    for language in CITIES:
        file = dataset / "data" / "small" / f"{language}.parquet"
        table = pq.read_table(file)
        pq.write_table(table.append_column("popularity", pa.array(values, kind)), file)


@pytest.fixture
def run(tmp_path):
    dataset = write_facts(tmp_path / "facts", copies=10)
    add_column(dataset, COUNTS)
    run = write_scores(tmp_path / "run", dataset, 1)
    run.write_results(find_results(run))
    return run


def test_fifths_are_counted_by_hand(run):
    found = find_results(run, Bootstrap(100), options=ASKED)["by_popularity"]
    ranked = sorted(x for x in COUNTS if x is not None)
    # the popularity at or below which at least 1/5, 2/5, … of the 39 facts are
    edges = [next(x for x in ranked if sum(y <= x for y in ranked) >= k * 39 / 5)
             for k in (1, 2, 3, 4)]  # fmt: skip
    for language in LANGUAGES:
        table = run.read(language)
        right = right_probability(table["scores"].to_pylist(), table["answers"].to_pylist())
        assert found[language]["n_unknown"] == 1
        parts = found[language]["parts"]
        assert len(parts) == 5
        for part, low, high in zip(parts, [-1, *edges], [*edges, 99], strict=True):
            rows = [n for n, x in enumerate(COUNTS) if x is not None and low < x <= high]
            assert part["n"] == len(rows)
            assert part["accuracy"] == pytest.approx(np.mean([right[n] for n in rows]))
            assert (part["from"], part["to"]) == (
                min(COUNTS[n] for n in rows), max(COUNTS[n] for n in rows)
            )  # fmt: skip
            assert part["ci"][0] <= part["accuracy"] <= part["ci"][1]


def test_equal_numbers_are_in_one_part():
    assert split_popularity(np.zeros(9)).tolist() == [0] * 9
    assert set(split_popularity(np.array([0] * 8 + [5, 9])).tolist()) == {0, 4}


def test_a_choice_of_rows_is_respected(run):
    found = find_results(run, Bootstrap(0), make_choice(["P36"]), ASKED)["by_popularity"]["en"]
    known = sum(r == "P36" and x is not None for r, x in zip(RELATIONS, COUNTS, strict=True))
    assert sum(part["n"] for part in found["parts"]) == known
    assert {part["ci"] for part in found["parts"]} == {None}


def test_the_command_prints_and_stores_it(run):
    words = ["metrics", str(run.folder), "--popularity", "--resamples", "0"]
    done = CliRunner().invoke(app, words)
    results = json.loads((run.folder / "results.json").read_text())
    first = results["by_popularity"]["en"]["parts"][0]
    assert f"{first['from']:.0f} to {first['to']:.0f}" in done.output
    assert results["options"] == {"popularity": True}
    assert "options: popularity\n" in done.output
    assert "accuracy by popularity" in (run.folder / "report.html").read_text()


def write_predictions(folder, dataset):
    """Right are the four least popular facts; the most popular one was not asked."""
    table = load_facts(str(dataset), None, ["en"])["en"]
    rows = [
        {
            "fact_id": fact,
            "relation": "P36",
            "prompt": "It is [Y].",
            "answer_forms": ["gold"],
            "prediction": None if n == 0 else "gold" if n >= N - 4 else "x",
            "n_masks": None if n == 0 else 1,
            "log_probability": None if n == 0 else -1.0,
            "single_token": None if n == 0 else True,
        }
        for n, fact in enumerate(table["fact_id"].to_pylist())
    ]
    run = Run(folder)
    run.open(
        make_settings(
            ["en"],
            dataset=str(dataset),
            scoring="xfactr",
            bos=None,
            fingerprint={"en": fingerprint(table, ["answer_forms"])},
        )
    )
    run.write("en", pa.Table.from_pylist(rows, schema=PREDICTIONS))
    return run


def test_free_predictions(tmp_path):
    dataset = write_facts(tmp_path / "facts", copies=10)
    add_column(dataset, [N - n for n in range(N)])
    run = write_predictions(tmp_path / "run", dataset)
    found = find_results(run, Bootstrap(0), options=ASKED)["by_popularity"]["en"]
    assert found["n_unknown"] == 1
    assert [part["n"] for part in found["parts"]] == [8, 8, 8, 8, 7]
    assert [part["accuracy"] for part in found["parts"]] == [4 / 8, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("spoil", "error"),
    [
        (lambda dataset: None, "needs a column 'popularity' of numbers; 'en' of the dataset has n"),
        (
            lambda dataset: add_column(dataset, ["a"] * N, pa.string()),
            "'en' of the dataset has str",
        ),
    ],
)
def test_a_dataset_without_numbers_is_refused(tmp_path, spoil, error):
    dataset = write_facts(tmp_path / "facts", copies=10)
    run = write_scores(tmp_path / "run", dataset, 1)
    spoil(dataset)
    with pytest.raises(PolyprobeError, match=error):
        find_results(run, Bootstrap(0), options=ASKED)
