"""The gate `compare --fail-if`: statuses, lines, bounds, and its rates in simulated pairs."""

import json
from math import sqrt

import numpy as np
import pytest

from bench.gate import DISCORDANT, FACTS, MARGIN, SIZES, draw_pair, find_power, find_rates
from polyprobe.analysis.figures.figures import FIGURES
from polyprobe.cli import main
from polyprobe.metrics.joint.significance import compare_figures
from polyprobe.schema.load import load_facts
from tests.making.runs import reseal, write_run

ROWS, LANGUAGES = 400, ("en", "es")
ALL = ("base", "same", "worse", "fewer", "language", "object", "donor", "old")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs on geofacts; `worse` has 40 of 400 rows of English wrong and 8 of Spanish."""
    folder = tmp_path_factory.mktemp("gate")
    tables = load_facts("geofacts", languages=list(LANGUAGES))

    def write(name, wrong=(0, 0), rows=ROWS, languages=LANGUAGES, donors=False, **options):
        scores = {}
        for language, n in zip(languages, wrong, strict=False):
            lists = tables[language].slice(0, rows).select(["answers", "candidates"]).to_pylist()
            scores[language] = [
                [float((k in row["answers"]) != (place < n)) for k in range(len(row["candidates"]))]
                for place, row in enumerate(lists)
            ]
        others = {x: [[-y for y in row] for row in rows] for x, rows in scores.items()}
        others = others if donors else None
        write_run(folder / name, "geofacts", scores, name, rows, donor_scores=others, **options)

    write("base")
    write("same")
    write("worse", wrong=(40, 8))
    write("fewer", rows=388)
    write("language", languages=["en"])
    write("object", scoring="object")
    write("donor", donors=True)
    write("old")
    reseal(folder / "old", definition=1)
    assert {x.name for x in folder.iterdir()} == {*ALL}
    return folder


@pytest.fixture
def gate(runs, monkeypatch, capsys):
    def call(line):
        monkeypatch.chdir(runs)
        monkeypatch.setattr("sys.argv", ["polyprobe", "compare", *line.split()])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return end.value.code, out.splitlines(), err

    return call


# Command → status, the first words of the last lines. The lost shares are .1 and .02, mean .06;
# the bounds of 40 of 400 are .1 ± 1.645 sqrt(.1 * .9 / 400) = .075 and .125.
DECISIONS = {
    "base same --fail-if accuracy,rankc --margin .02": (0, ["kept: accuracy: ", "kept: rankc: "]),
    "base same --fail-if accuracy --margin .02 --strict": (0, ["kept: "]),
    "base same --fail-if accuracy --strict": (2, ["not decidable: accuracy: no resample differs"]),
    "base worse --fail-if accuracy.en,accuracy.es --margin .07": (
        1,
        ["lost: accuracy.en: 1.000 → 0.900, loss 0.1000", "kept: accuracy.es: "],
    ),
    "base worse --fail-if accuracy.en --margin .08": (0, ["kept: accuracy.en: "]),
    "base worse --fail-if accuracy.en --margin .12 --strict": (1, ["lost: "]),
    "base worse --fail-if accuracy.en --margin .13 --strict": (0, ["kept: "]),
    "base worse --fail-if accuracy.mean,rankc.en-es": (1, ["lost: accuracy.mean", "lost: rankc."]),
    "worse base --fail-if accuracy": (0, ["kept: accuracy: 0.940 → 1.000, loss -0.0600"]),
    "base fewer --fail-if accuracy": (2, ["not decidable: accuracy: fewer lacks 12 rows of base"]),
    "fewer base --fail-if accuracy --margin .02": (0, ["kept: "]),
    "base language --fail-if accuracy,accuracy.en,rankc": (
        2,
        [
            "not decidable: accuracy: language has no value of es",
            "kept: accuracy.en: ",
            "not decidable: rankc: not in both runs; it needs several languages",
        ],
    ),
    "language base --fail-if accuracy": (0, ["kept: "]),
    "base object --fail-if accuracy": (2, ["not decidable: accuracy: other scoring (bmlama / obj"]),
    "donor base --fail-if accuracy,rankc_subject": (
        2,
        ["kept: accuracy: ", "not decidable: rankc_subject: not in both runs; it needs a question"],
    ),
    "base worse --fail-if accuracy.fr,accuracy.en": (
        1,
        ["not decidable: accuracy.fr: there is no fr in both runs; they have en", "lost: "],
    ),
    "base same --fail-if accuracy --resamples 0": (2, ["not decidable: accuracy: no interval"]),
}


@pytest.mark.parametrize("line", DECISIONS)
def test_the_status_and_a_line_for_each_figure(line, gate):
    status, starts = DECISIONS[line]
    code, out, _ = gate(line)
    last = out[-len(starts) :]
    assert [x.startswith(y) for x, y in zip(last, starts, strict=True)] == [True] * len(starts), out
    assert code == status


MISTAKES = {
    "base nowhere --fail-if accuracy": "nowhere is not a run folder",
    "base old --fail-if accuracy": "old has figures of definition 1",
    "base same --fail-if acuracy": "unknown --fail-if 'acuracy'; did you mean 'accuracy'?",
    "base same --fail-if recall_at_k.recall@5": "unknown --fail-if 'recall_at_k'",
    "base same --fail-if=": "unknown --fail-if ''",
    "base same --fail-if accuracy --margin 2": "--margin must be 0 to 1",
    "base same --fail-if accuracy --margin little": "Invalid value for '--margin'",
    "base same --fail-if": "Option '--fail-if' requires an argument",
    "base same worse --fail-if accuracy": "--fail-if is for two runs",
    "base same --fail-if accuracy --output no/page.txt": "expected a name that ends in .html",
    "base --fail-if accuracy": "Missing argument 'run_b'",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_not_a_loss(line, gate):
    code, _, err = gate(line)
    assert code == 2
    assert MISTAKES[line] in err
    assert err.count("error: ") == 1


@pytest.mark.parametrize("error", [MemoryError, RecursionError, PermissionError])
def test_a_crash_is_not_a_loss(error, gate, monkeypatch):
    def crash(*_, **__):
        raise error

    monkeypatch.setattr("polyprobe.analysis.compare.folders.compare_folders", crash)
    assert gate("base same --fail-if=accuracy")[0] == 2


def test_without_fail_if_mistakes_end_as_before(gate):
    assert gate("base nowhere")[0] == 1
    assert gate("base same --margin .02")[2].startswith("error: --margin is for --fail-if")


def test_json_has_the_verdicts_and_the_bounds(gate, tmp_path):
    code, out, _ = gate(f"base worse --fail-if accuracy.en,rankc --json {tmp_path / 'c.json'}")
    found = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))
    assert code == 1
    assert [": ".join(x.values()) for x in found["gate"]] == out[-2:]
    row = found["differences"]["accuracy"]["en"]
    assert row["ci"][0] < row["bounds"][0] < row["difference"] < row["bounds"][1] < row["ci"][1]


def test_bounds_are_those_of_a_normal_sum():
    first, second = draw_pair(np.random.default_rng(1), 0.03)
    *_, mean = compare_figures(first, second, test="bootstrap")
    changes = first.table[:, 0] - second.table[:, 0]
    half = 1.6449 * sqrt(changes.var() / FACTS)
    assert np.allclose(mean.bounds, [changes.mean() - half, changes.mean() + half], atol=7e-4)


def test_a_larger_value_is_better_in_each_figure_that_can_be_lost():
    compared = [figure for figure in FIGURES if figure.compared]
    assert len(compared) == 7
    assert not any(figure.lower_is_better for figure in compared)


def test_power_is_that_of_simulated_pairs():
    random, found = np.random.default_rng(2), []
    for n in SIZES:
        counts = random.multinomial(n, [0.06, 0.02, 0.92], size=20_000)  # lost, won, alike
        losses = (counts[:, 0] - counts[:, 1]) / n
        errors = np.sqrt((counts[:, :2].sum(axis=1) / n - losses**2) / n)
        found.append((losses - 1.6449 * errors > MARGIN).mean())
    assert np.allclose(found, [find_power(n, DISCORDANT) for n in SIZES], atol=0.03)


@pytest.mark.slow
@pytest.mark.acceptance
def test_rates_of_alarms_in_simulated_pairs():
    """The bounds are three standard errors from the true rates; bench/gate.md has more pairs."""
    rates = {0.0: 1000, MARGIN: 2000, 2 * MARGIN: 1000}
    none, margin, twice = (find_rates(loss, pairs) for loss, pairs in rates.items())
    assert none[0] <= 0.01
    assert 0.035 <= margin[0] <= 0.065
    assert twice[0] >= 0.9
    assert margin[1] >= 0.9  # --strict: a larger loss cannot be excluded
