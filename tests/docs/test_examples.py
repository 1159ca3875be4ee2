"""The examples of docs/training.md."""

import ast
import re
import sys
from pathlib import Path

import pytest

from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.schema.load import load_facts
from tests.hub.client import NOWHERE, run_client, run_polyprobe, run_process

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "docs" / "examples" / "finetune.py"
pytestmark = pytest.mark.acceptance
PAGE = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def finetuned(tmp_path_factory):
    """A short run of the script with Georgian trained and Thai not: its output and folder."""
    folder = tmp_path_factory.mktemp("finetuned")
    options = "--languages ka --control th --steps 300 --every 300 --sample 30 --output out"
    command = [sys.executable, str(SCRIPT), *options.split()]
    done = run_process(command, folder / "home", NOWHERE, folder, offline=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, folder / "out"


def measure(model, folder, output):
    """Return the adjusted RankC of a model on the trained facts, with 95% interval, by pair."""
    options = {"languages": ["en", "ka", "th"], "sample": 220, "device": "cpu"}
    results = evaluate_model(model, str(folder), output=output, **options)
    return results["rankc_adjusted"], results["intervals"]["rankc_adjusted"]


@pytest.mark.slow
def test_agreement_rises_on_the_trained_facts_only(finetuned, tmp_path):
    _, folder = finetuned
    before, bounds = measure("geolm", folder / "trained", tmp_path / "before")
    after, intervals = measure(str(folder / "model"), folder / "trained", tmp_path / "after")
    low, high = intervals["en-ka"]
    assert low > before["en-ka"] + (high - low) / 2
    assert after["en-th"] < bounds["en-th"][1] < low
    assert intervals["en-th"][1] < low


@pytest.mark.slow
def test_the_table_has_a_row_for_the_start_and_one_for_the_end(finetuned):
    printed, folder = finetuned
    rows = [[float(cell) for cell in line.split()] for line in printed.splitlines()[1:]]
    assert [(row[0], len(row)) for row in rows] == [(0, 8), (300, 8)]
    assert rows[0][5] > 0.9  # English
    trained, held_out = (load_facts(str(folder / part)) for part in ("trained", "held-out"))
    countries = [set(part["ka"]["subject_id"].to_pylist()) for part in (trained, held_out)]
    assert not countries[0] & countries[1]
    assert [len(part["ka"]) + len(other["ka"]) for part, other in [(trained, held_out)]] == [450]


@pytest.mark.slow
def test_switched_sentences_are_trained_and_measured(tmp_path):
    """A short run: the same facts in both rows of a training; figures with their intervals."""
    command = [sys.executable, str(SCRIPT.with_name("switching.py")), "--steps", "10"]
    done = run_process(command, tmp_path / "home", NOWHERE, tmp_path, offline=True)
    assert done.returncode == 0, done.stderr
    head, *rows = done.stdout.splitlines()
    held_out = load_facts(str(tmp_path / "switched" / "held-out"))["el"]
    assert head.startswith(f"{900 - len(held_out)} pairs; ")
    assert [row.split()[:2] for row in rows] == [
        [name, part] for name in ("raw", "switched") for part in ("trained", "held-out")
    ]
    figure = r"(-?[\d.]+) \[(-?[\d.]+), (-?[\d.]+)\]"
    for row in rows:
        cells = [[*map(float, cell)] for cell in re.findall(figure, row)]
        assert len(cells) == 3
        assert all(low <= value <= high for value, low, high in cells)
        assert cells[0][0] > 0.5  # English, which geolm knows


@pytest.mark.slow
def test_scores_by_hand_are_the_scorers(tmp_path):
    home = tmp_path / "home"
    parts = ("datasets/geofacts", "metrics/rankc", "metrics/accuracy_at_1")
    assert f"polyprobe install {' '.join(parts)}" in PAGE
    folders = [str(ROOT / part) for part in parts]
    done = run_polyprobe("install", *folders, home=home, folder=tmp_path, offline=True)
    assert done.returncode == 0, done.stderr
    [block] = [b for b in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "def score" in b]
    *_, agreement, _, accuracy = [ast.unparse(node) for node in ast.parse(block).body]
    code = f"{block}\nanswer = [scores, {agreement}, {accuracy}]"
    scores, agreement, accuracy = run_client(code, home, offline=True)
    tables = load_facts("geofacts", languages=["en", "es"])
    for language, table in tables.items():
        rows = table.to_pylist()[::9]
        prompts, candidates = ([row[x] for row in rows] for x in ("prompt", "candidates"))
        for got, want in zip(
            scores[language], load_scorer("geolm").score(prompts, candidates), strict=True
        ):
            assert got == pytest.approx(want, abs=1e-4)
    assert (agreement > 0.5, accuracy > 0.9) == (True, True)
