"""Confidence against accuracy, by brute force, scipy's bins and simulation."""

import math
import random

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import softmax
from scipy.stats import binned_statistic

from polyprobe.analysis.figures.compute import find_results
from polyprobe.analysis.figures.modules import find_confidence, measure_calibration
from polyprobe.analysis.figures.predictions import PredictedFacts, calibrate_predictions
from polyprobe.analysis.options import Bootstrap
from polyprobe.metrics.shared.rows import Rows
from polyprobe.report.page import write_report
from polyprobe.schema.run.folder import PREDICTIONS, Run
from polyprobe.schema.run.protocol import protocol_of
from polyprobe.scoring.options import SCORING_NAMES
from tests.analysis.definitions import error_of
from tests.making.facts import write_facts
from tests.making.runs import SCORES, reseal, write_run


def test_by_hand():
    """Bins 2 (two facts), 9 (three, one of them at 1)."""
    found = measure_calibration(np.array([0.2, 0.25, 0.9, 1.0, 0.95]), np.array([0, 1, 1, 1, 0.5]))
    assert found["ece"] == pytest.approx(2 / 5 * (0.5 - 0.225) + 3 / 5 * (0.95 - 2.5 / 3))
    assert found["bins"]["n"] == [0, 0, 2, 0, 0, 0, 0, 0, 0, 3]
    assert found["bins"]["confidence"][2] == pytest.approx(0.225)
    assert found["bins"]["accuracy"] == [None, None, 0.5, *[None] * 6, pytest.approx(2.5 / 3)]
    empty = measure_calibration(np.zeros(0), np.zeros(0))
    assert (empty["ece"], empty["n_queries"]) == (None, 0)


@pytest.mark.parametrize("seed", range(5))
def test_random_facts(seed):
    draw = np.random.default_rng(seed)
    confidence = draw.beta(0.7, 0.7, 400)
    right = (draw.random(400) < confidence**2).astype(float)
    found = measure_calibration(confidence, right)
    assert found["ece"] == pytest.approx(error_of(confidence, right))
    for name, values in {"confidence": confidence, "accuracy": right}.items():
        means = binned_statistic(confidence, values, "mean", 10, (0, 1)).statistic
        assert found["bins"][name] == pytest.approx(means.tolist())
    assert sum(found["bins"]["n"]) == found["n_queries"] == 400


def test_a_calibrated_model_has_no_error_and_a_boastful_one_its_excess():
    draw = np.random.default_rng(1)
    truth = draw.random(200_000) * 0.9
    right = (draw.random(200_000) < truth).astype(float)
    assert measure_calibration(truth, right)["ece"] < 0.01
    assert measure_calibration(truth + 0.1, right)["ece"] == pytest.approx(0.1, abs=0.01)


def test_confidence_is_the_largest_softmax():
    draw = np.random.default_rng(2)
    rows = [draw.normal(-8, 3, size) for size in (2, 10, 1, 5)]
    rows += [np.array([-1.0, -math.inf]), np.full(4, -math.inf), np.array([-2.0, -2.0])]
    found = find_confidence(Rows(np.concatenate(rows), np.array([len(row) for row in rows])))
    expected = [softmax(row).max() for row in rows[:4]]
    assert found == pytest.approx([*expected, 1.0, 1 / 4, 1 / 2])


@pytest.mark.parametrize("norm", [False, True])
def test_predictions_by_length(norm):
    """The confidence of a prediction of m masks is the m-th root of its product."""
    draw = random.Random(4)
    made = []
    for number in range(200):
        fillings = [
            {"ids": [1] * m, "text": "a", "log_c": [math.log(draw.random()) for _ in range(m)]}
            for m in (1, 2, 3)
        ]
        m = draw.randint(1, 3)
        made.append(
            {
                "fact_id": f"f{number}", "prediction": "a", "n_masks": m,
                "log_probability": sum(fillings[m - 1]["log_c"]) / (m if norm else 1),
                "single_token": draw.random() < 0.5, "fillings": fillings,
            }
        )  # fmt: skip
    made[7] |= {
        "prediction": None,
        "log_probability": None,
        "n_masks": None,
        "single_token": None,
        "fillings": None,
    }
    right = np.array([float(draw.random() < 0.3) for _ in made])
    right[7] = np.nan
    for row, is_right in zip(made, right, strict=True):
        row |= {
            "prompt": "It is [Y].",
            "relation": "P1",
            "answer_forms": ["a" if is_right else "b"],
        }
    facts = PredictedFacts({"fr": pa.Table.from_pylist(made, PREDICTIONS)}, norm)
    np.testing.assert_array_equal(facts.right["fr"], right)
    found = calibrate_predictions(facts, "fr")
    for suffix, wanted in {"": (True, False), "_single": (True,), "_multi": (False,)}.items():
        facts = [
            (row, r) for row, r in zip(made, right, strict=True) if row["single_token"] in wanted
        ]
        confidence = [
            math.prod(math.exp(c) for c in row["fillings"][row["n_masks"] - 1]["log_c"])
            ** (1 / row["n_masks"])
            for row, _ in facts
        ]
        assert found[f"ece{suffix}"] == pytest.approx(error_of(confidence, [r for _, r in facts]))
        assert sum(found[f"bins{suffix}"]["n"]) == len(facts)
    assert (found["n_queries"], found["n_single"] + found["n_multi"]) == (199, 199)


def test_scores_that_are_no_log_probabilities_have_no_calibration(tmp_path):
    write_facts(tmp_path / "facts")
    run = write_run(tmp_path / "run", tmp_path / "facts", SCORES)
    assert "calibration" not in run.read_results()
    assert not [name for name in write_report([run.folder], None) if "reliability" in name]
    for scoring in SCORING_NAMES:
        if protocol_of(scoring).kind == "scores" and not protocol_of(scoring).answers:
            reseal(run.folder, scoring=scoring)
            has = "calibration" in find_results(Run(run.folder), Bootstrap(0))
            summed = ("object", "object-released", "contrastive", "contrastive-released")
            assert has == (scoring in summed), scoring


def test_a_run_of_candidates(tmp_path):
    write_facts(tmp_path / "facts")
    run = write_run(tmp_path / "run", tmp_path / "facts", SCORES, scoring="object")
    found = find_results(run, Bootstrap(0))["calibration"]
    for language, figures in found.items():
        confidence, right = [], []
        for row in run.read(language).to_pylist():
            scores = row["scores"]
            first = [k for k, score in enumerate(scores) if score == max(scores)]
            confidence.append(softmax(scores).max())
            right.append(len(set(first) & set(row["answers"])) / len(first))
        assert figures["ece"] == pytest.approx(error_of(confidence, right), rel=1e-6)
