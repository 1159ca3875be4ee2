"""Models whose knowledge is known: what every figure should say of them, and the table of bench."""

import re
from pathlib import Path

import numpy as np
import pytest

from bench import toys
from polyprobe.metrics.rankc_subject.formulas import measure_rankc_subject
from tests.metrics.definitions import define_weights

ROOT = Path(__file__).parents[3]
TABLE = ROOT / "bench" / "toys.md"
CARD = (ROOT / "metrics" / "rankc_subject" / "README.md").read_text(encoding="utf-8")
ALL, HALF, ONE = "knows all, rest random", "knows half, rest random", "knows all in one language"


def find_corrected(size):
    """Return R, P and (R - P) / (1 - P) where both are right and the rest is random.

    The tops of length j share the answer and (j - 1)^2 / (N - 1) of the others, by chance; with the
    donor in one language j^2 / N.
    """
    weights = [*enumerate(define_weights(size, "softmax"), 1)]
    own = sum(w * (1 + (j - 1) ** 2 / (size - 1)) / j for j, w in weights)
    donor = sum(w * j / size for j, w in weights)
    return own, donor, (own - donor) / (1 - donor)


@pytest.fixture(scope="module")
def questions():
    return toys.read_questions("geofacts", None, ["en", "es", "ru", "zh"])


@pytest.fixture(scope="module")
def found(questions):
    return {model: toys.measure(questions, model, 6)[0] for model in toys.MODELS}


@pytest.mark.acceptance
@pytest.mark.parametrize("model", toys.BLIND)
def test_models_that_do_not_read_the_subject(model, found):
    assert found[model]["corrected"] == pytest.approx(0, abs=0.02)
    assert found[model]["R − P"] == pytest.approx(0, abs=0.02)
    assert found[model]["gain"] == pytest.approx(0, abs=0.02)


@pytest.mark.acceptance
def test_no_other_figure_is_0_for_all_of_them(found):
    """Chance, or another figure near 0 for the constant model, is far from it for an order."""
    for name in ("adjusted", "COverlap", "agreement", "κ", "τ-b"):
        assert found["one order"][name] == pytest.approx(1)
        assert found["shortest name first"][name] > 0.3
    assert found["popularity"]["accuracy"] > 2 * found["random"]["accuracy"]


@pytest.mark.acceptance
def test_models_that_know(found, questions):
    """All rows with a donor have ten candidates, so the expectations have one closed form."""
    donors = questions.tables["en"]["donor"].is_valid().to_numpy()
    assert {*questions.sizes[donors].tolist()} == {10}
    own, donor, corrected = find_corrected(10)
    assert corrected == pytest.approx(0.797, abs=5e-4)
    assert found[ALL]["corrected"] == pytest.approx(corrected, abs=0.02)
    assert found[ALL]["P"] == pytest.approx(donor, abs=0.01)
    assert found[ALL]["R − P"] == pytest.approx(own - donor, abs=0.01)
    assert found[ALL]["accuracy"] == 1
    assert found[ALL]["gain"] == pytest.approx(1 - 1 / 10, abs=0.02)
    # each fact known in all languages or in none
    assert found[HALF]["corrected"] == pytest.approx(corrected / 2, abs=0.02)
    assert found[HALF]["gain"] == pytest.approx((1 - 1 / 10) / 2, abs=0.04)
    assert found["knows all, rest in one order"]["corrected"] == pytest.approx(1)
    assert found[ONE]["corrected"] == pytest.approx(0, abs=0.02)
    assert found[ONE]["gain"] == pytest.approx((1 - 1 / 10) / 4, abs=0.02)


@pytest.mark.parametrize("size", [2, 3, 4, 6, 10, 20, 50])
def test_the_card_has_the_values_of_pools_of_any_size(size):
    """20,000 queries; the standard error of the corrected value is below .005."""
    scores = np.random.default_rng(size).normal(size=(4, 20_000, size))
    scores[:2, :, 0] += toys.SURE
    found = measure_rankc_subject(*scores, n_resamples=0)["rankc_subject"]
    expected = find_corrected(size)[2]
    assert found == pytest.approx(expected, abs=0.02)
    value = f"{expected:.2f}".removeprefix("0").removesuffix(".00")
    assert re.search(rf" {re.escape(value)} with [0-9 or]*\b{size}\b", CARD)


@pytest.mark.acceptance
def test_a_model_that_errs_alike_is_consistent_about_the_subject(found):
    wrong = found["always wrong alike"]
    assert wrong["corrected"] == pytest.approx(1, abs=1e-6)
    assert wrong["accuracy"] == 0
    assert wrong["gain"] == pytest.approx(-1 / 10, abs=0.02)  # at random about another subject
    assert wrong["COverlap"] is None


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
    for table in tables:
        assert [*table][: len(toys.MODELS)] == [*toys.MODELS]
        for model in toys.BLIND:
            assert abs(table[model]["corrected"]) <= 0.02
        assert table[HALF]["corrected"] == pytest.approx(0.4, abs=0.02)
        assert table[ALL]["corrected"] == pytest.approx(0.8, abs=0.01)
        assert table["knows all, rest in one order"]["corrected"] == 1


@pytest.mark.acceptance
def test_the_table_of_the_bench_is_that_of_the_code():
    """Models without random numbers have the same figures with any number of seeds."""
    [table, _] = read_tables()
    questions = toys.read_questions("geofacts", None, toys.LANGUAGES)
    for model in ("constant", "shortest name first", "popularity"):
        values, floors = toys.measure(questions, model, 1)
        expected = {name: None if x is None else round(x, 3) for name, x in values.items()}
        assert table[model] == pytest.approx(expected, abs=0.0011)
    assert table["floor: frequency"]["accuracy"] == round(floors["frequency"]["accuracy"], 3)
    assert table["floor: length"]["RankC"] == table["shortest name first"]["RankC"]
