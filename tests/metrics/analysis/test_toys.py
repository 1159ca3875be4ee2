"""Models whose knowledge is known: what every figure should say of them, and the table of bench."""

import re
from pathlib import Path

import numpy as np
import pytest

from bench import toys
from polyprobe.analysis.figures.figures import BY_NAME
from polyprobe.analysis.figures.floors import find_floors
from polyprobe.analysis.figures.units import link_donors
from polyprobe.metrics.rankc_subject.formulas import measure_rankc_subject
from polyprobe.metrics.shared.intervals import Resampling, estimate
from tests.metrics.definitions import define_weights

ROOT = Path(__file__).parents[3]
TABLE = ROOT / "bench" / "toys.md"
CARD = (ROOT / "metrics" / "rankc_subject" / "README.md").read_text(encoding="utf-8")
ALL, HALF = "knows all, rest random", "knows half, rest random"
# Centred RankC and its floor of 8,000 rows with ten candidates, see test_subject_toys.py.
HALVES = {
    HALF: (0.397, 0.190),
    "another half in each, rest random": (0.201, 0.199),
    "another half in each, rest in one order": (0.501, 0.510),
    "another half in each, one order and noise": (0.279, 0.280),
    "knows 30 and 80 % independently, rest in one order": (0.438, 0.445),
    "complementary halves, rest random": (0.000, 0.204),
    "knows all in one language, rest random": (0.000, 0.000),
    "knows all in one language, one order and noise": (0.000, 0.000),
}


def find_centred(size):
    """Return R - P and 1 - P where both are right and the rest is random: Q is P.

    The tops of length j share the answer and (j - 1)^2 / (N - 1) of the others, by chance; with the
    donor in one language, or both, j^2 / N.
    """
    weights = [*enumerate(define_weights(size, "softmax"), 1)]
    own = sum(w * (1 + (j - 1) ** 2 / (size - 1)) / j for j, w in weights)
    donor = sum(w * j / size for j, w in weights)
    return own - donor, 1 - donor


SLOW = [pytest.mark.acceptance, pytest.mark.upstream, pytest.mark.slow]


@pytest.fixture(scope="module", params=["geofacts", pytest.param("17-repaired", marks=SLOW)])
def questions(request):
    names = {"geofacts": None, "17-repaired": "bmlama"}
    folder = names[request.param] and request.getfixturevalue(names[request.param])
    return toys.read_questions(folder)


def bound_mean(facts, name):
    """Return the interval of the mean of a figure, with the units of a run."""
    units = Resampling(n_resamples=1000, clusters=link_donors(facts.table, "subject"))
    return estimate(BY_NAME[name].measure(facts), units)["mean_ci"]


@pytest.mark.parametrize("model", toys.FIXED)
def test_one_ranking_for_all_subjects_has_exactly_0(model, questions):
    facts = toys.score(questions, model, 0)
    assert np.abs(facts.second.terms.interaction).max() < 1e-12
    assert toys.find(facts, "rankc_subject") in (None, pytest.approx(0, abs=1e-12))
    assert toys.find(facts, "accuracy_gain") == pytest.approx(0, abs=1e-12)
    assert (toys.find(facts, "rankc_subject") is None) == (model == "one order")


@pytest.mark.parametrize("model", toys.BLIND)
def test_intervals_of_noise_cover_0(model, questions):
    facts = toys.score(questions, model, 0)
    for name in ("rankc_subject", "rankc_interaction", "rankc_beyond", "accuracy_gain"):
        low, high = bound_mean(facts, name)
        assert low <= 0 <= high


@pytest.mark.parametrize("model", HALVES)
def test_intervals_of_partial_knowledge_cover_its_value(model, questions):
    facts = toys.score(questions, model, 1)
    centred, floor = HALVES[model]
    for name, value in {"rankc_subject": centred, "rankc_beyond": centred - floor}.items():
        low, high = bound_mean(facts, name)
        assert high - low < 0.2
        # Above a common order the floor is some .02 too high: cells join ranks about the donor.
        slack = 0.03 if name == "rankc_beyond" and "order" in model else 0.01
        assert low - slack <= value <= high + slack


def test_what_knows_all_has_the_expectation(questions):
    facts = toys.score(questions, ALL, 0)
    sizes = facts.second.sizes[facts.second.terms.counted].tolist()
    assert 0.99 * len(questions.dealt.sizes) < len(sizes) <= len(facts.table)
    expected, room = np.mean([find_centred(size) for size in sizes], axis=0)
    assert toys.find(facts, "rankc_interaction") == pytest.approx(expected, abs=0.02)
    assert toys.find(facts, "rankc_room") == pytest.approx(room, abs=0.02)
    centred = toys.find(facts, "rankc_subject")
    assert centred == pytest.approx(expected / room, abs=0.01)
    assert centred >= 0.75
    assert toys.find(facts, "accuracy") == 1
    guess = np.mean([1 / size for size in sizes])
    assert toys.find(facts, "accuracy_gain") == pytest.approx(1 - guess, abs=0.02)
    parts = [toys.find(facts, f"rankc_{name}") for name in ("right", "rest")]
    assert sum(parts) == pytest.approx(centred, abs=1e-12)


def test_knowledge_above_one_order_is_no_question_of_its_amount(questions):
    for model in ("knows all", "knows half"):
        facts = toys.score(questions, f"{model}, rest in one order", 0)
        assert toys.find(facts, "rankc_subject") == pytest.approx(1)
    facts = toys.score(questions, "knows all in one language, rest in one order", 0)
    assert np.abs(facts.second.terms.interaction).max() < 1e-12
    assert toys.find(facts, "rankc_room") > 0.5


@pytest.mark.parametrize(
    ("model", "name"),
    [("shared bigrams", "bigrams"), ("first letter, then shortest", "initials")],
)
def test_what_reads_names_is_its_floor(model, name, questions):
    facts = toys.score(questions, model, 0)
    floors = find_floors(facts, BY_NAME)[name]
    names = {"accuracy", "accuracy_gain", "rankc_subject", "rankc", "rankc_adjusted", "coverlap"}
    assert floors.keys() >= names
    for figure in names:
        assert floors[figure]["mean"] == pytest.approx(toys.find(facts, figure), abs=1e-6)
    assert floors["rankc_subject"]["mean"] > 0.25
    assert floors["accuracy_gain"]["mean"] > 0.05


def test_what_errs_alike_reacts_alike(questions):
    facts = toys.score(questions, "always wrong alike", 0)
    assert toys.find(facts, "rankc_subject") == pytest.approx(1)
    assert toys.find(facts, "accuracy") == 0
    assert toys.find(facts, "accuracy_gain") < -0.1  # at random about another subject
    assert toys.find(facts, "coverlap") is None


@pytest.mark.parametrize("size", [2, 3, 4, 6, 10, 20, 50])
def test_the_card_has_the_values_of_pools_of_any_size(size):
    """20,000 queries; the standard error of the value is below .005."""
    scores = np.random.default_rng(size).normal(size=(4, 20_000, size))
    scores[:2, :, 0] += toys.SURE
    found = measure_rankc_subject(*scores, n_resamples=0)["rankc_subject"]
    interaction, room = find_centred(size)
    assert found == pytest.approx(interaction / room, abs=0.02)
    value = f"{interaction / room:.2f}".removeprefix("0").removesuffix(".00")
    assert re.search(rf" {re.escape(value)} with [0-9 or]*\b{size}\b", CARD)


def read_tables():
    """Return the tables of bench/toys.md: model to column to number."""
    tables = []
    for part in TABLE.read_text(encoding="utf-8").split("\n## ")[1:]:
        lines = [line.strip("| ").split(" | ") for line in re.findall(r"^\|.*\|$", part, re.M)]
        [head, _, *rows] = lines
        cells = [[None if x == "–" else float(x) for x in row[1:]] for row in rows]
        tables.append(
            {
                row[0]: dict(zip(head[1:], x, strict=True))
                for row, x in zip(rows, cells, strict=True)
            }
        )
    return tables


def test_the_table_of_the_bench_has_what_the_issue_asks_for():
    tables = read_tables()
    assert len(tables) == 2  # geofacts, 17-repaired
    for table, missing in zip(tables, ([], [toys.CONTINENT]), strict=True):
        assert [x for x in table if not x.startswith("floor")] == [
            x for x in toys.MODELS if x not in missing
        ]
        for model in toys.FIXED:
            assert table[model]["centred"] in (0, None)
            assert table[model]["R − 2P + Q"] == 0
        for model in toys.BLIND:
            assert abs(table[model]["centred"]) <= 0.02
        for model, (centred, floor) in HALVES.items():
            assert table[model]["centred"] == pytest.approx(centred, abs=0.02)
            assert table[model]["independent"] == pytest.approx(floor, abs=0.025)
        assert table[ALL]["centred"] == pytest.approx(0.8, abs=0.01)
        assert table["shared bigrams"]["centred"] > 0.25
        assert table["knows 5 %, rest in one order"]["centred"] == 1
        assert table["knows 1 %, rest in one order"]["centred"] == 1


def test_the_table_of_the_bench_is_that_of_the_code():
    """Models without random numbers have the same figures with any number of seeds."""
    [table, _] = read_tables()
    questions = toys.read_questions()
    for model in toys.DRAWN_ONCE:
        values = toys.measure(questions, model, 1)
        expected = {name: None if x is None else round(x, 3) for name, x in values.items()}
        assert table[model] == pytest.approx(expected, abs=0.0011)
    floors = find_floors(toys.score(questions, "random", 0), BY_NAME)
    assert table["floor: frequency"]["accuracy"] == round(
        floors["frequency"]["accuracy"]["mean"], 3
    )
    assert table["shortest name first"]["RankC"] == round(floors["length"]["rankc"]["mean"], 3)
