"""One `polyprobe eval` reads each thing once: run.json, the dataset, the scores."""

from collections import Counter

import datasets
import pytest
from typer.testing import CliRunner

from polyprobe.cli import app
from polyprobe.metrics.shared import rows
from polyprobe.schema.run.folder import Run
from tests.making import tiny
from tests.making.facts import CITIES, write_facts


@pytest.fixture
def counted(monkeypatch):
    """Count reads of run.json, loads of the dataset, and validations of score tables."""
    counts = Counter()

    def count(owner, name, label):
        own = getattr(owner, name)

        def counting(*arguments, **options):
            counts[label(arguments)] += 1
            return own(*arguments, **options)

        monkeypatch.setattr(owner, name, counting)

    count(Run, "read_json", lambda arguments: arguments[1])
    count(datasets, "load_dataset", lambda _: "dataset")
    count(rows, "_read_array", lambda _: "scores")
    count(rows, "_read_lists", lambda _: "scores")
    return counts


def evaluate(tmp_path):
    line = ["eval", tmp_path / "model", "--dataset", tmp_path / "facts"]
    result = CliRunner().invoke(app, [*map(str, line), "--output", str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    assert "report: " in result.output


def test_each_thing_is_read_once(tmp_path, counted):
    tiny.save_model("gpt2", tmp_path / "model")
    write_facts(tmp_path / "facts")
    evaluate(tmp_path)
    # run.json was written, not read. Scores of all rows; of those with a donor, in both sentences;
    # and the same of the two rankings by names.
    scores = 3 * 3 * len(CITIES)
    assert counted == {"dataset": 1, "scores": scores}
    counted.clear()
    evaluate(tmp_path)  # a finished run: once for its token budget, once under the lock
    assert counted == {"dataset": 1, "scores": scores, "run.json": 2}
