"""Runs from lists of wrong rows of Polyglot or Not, and table 2 on a board."""

import runpy
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from docs.reproduce import polyglot_runs
from docs.reproduce.polyglot_runs import main
from polyprobe.analysis.board.board import make_board
from polyprobe.report.findings.board import list_models
from polyprobe.report.show import format_table
from polyprobe.schema.run.folder import Run
from tests.docs.polyglot import ERRORS, HEAD, IDS, built, write_errors

__all__ = ["built"]

LINES = [("m", "en", "a"), ("m", "en", "c"), ("m", "de", "b"), ("x", "en", "d"), ("x", "de", "a")]


@pytest.fixture
def dataset(tmp_path):
    for language, ids in IDS.items():
        file = tmp_path / "data" / language / f"{language}.parquet"
        file.parent.mkdir(parents=True)
        pq.write_table(pa.table({"dataset_id": ids}), file)
    return tmp_path


def test_runs_have_the_accuracies_by_hand(dataset, tmp_path, monkeypatch):
    """English without b, which both have: m has d of a, c, d; German a to e: m lacks b."""
    errors = write_errors(tmp_path / "errors.tsv", *LINES, head=HEAD)
    monkeypatch.setitem(polyglot_runs.N_ROWS, "en", 3)
    main([str(errors), "--dataset", str(dataset), "--output", str(tmp_path / "runs")])
    board = make_board(sorted((tmp_path / "runs").iterdir()))
    found = {x.name: x.values["contrastive_knowledge.accuracy"].languages for x in board.entries}
    assert found == {"m": {"de": 4 / 5, "en": 1 / 3}, "x": {"de": 4 / 5, "en": 2 / 3}}
    scores = Run(tmp_path / "runs" / "m-en").read("en")["scores"].to_pylist()
    assert scores == [[-1, 0], [-1, 0], [0, -1]]
    with pytest.raises(SystemExit, match="unknown --models 'y'"):
        end(monkeypatch, errors, "--dataset", dataset, "--models", "y", "--output", tmp_path / "r")
    lost = write_errors(tmp_path / "lost.tsv", ("m", "en", "z"), head=HEAD)
    with pytest.raises(SystemExit, match="en: 1 errors are no rows, such as z"):
        end(monkeypatch, lost, "--dataset", dataset, "--output", tmp_path / "r")


def end(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", [polyglot_runs.__file__, *map(str, arguments)])
    runpy.run_path(polyglot_runs.__file__, run_name="__main__")


@pytest.mark.upstream
@pytest.mark.acceptance
def test_a_board_shows_table_2(built, tmp_path):
    """Two rows of 20 languages each; the paper prints 62.00 ± .87 and 57.70 ± .88."""
    models = {"m-bert-base": (62.102, 0.875), "bloom-7b": (57.696, 0.882)}
    options = ["--dataset", str(built), "--models", ",".join(models)]
    main([str(ERRORS), *options, "--output", str(tmp_path)])
    board = make_board(sorted(tmp_path.iterdir()))
    assert [entry.name for entry in board.entries] == [*models]
    for entry in board.entries:
        mean, half = models[entry.name]
        value = entry.values["contrastive_knowledge.accuracy"]
        assert len(value.languages) == 20
        assert round(100 * value.mean, 3) == mean
        assert 100 * value.plus_minus == pytest.approx(half, abs=0.01)
    _, rows = format_table(list_models(board, board.columns))
    assert [row[-2].partition(" ")[0] for row in rows] == ["0.621", "0.577"]
