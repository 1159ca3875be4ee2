"""What every module accepts and rejects: containers, arguments, combinations, random odd values."""

import doctest
import inspect
import json
import random
from datetime import date
from fractions import Fraction

import datasets
import evaluate
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from polyprobe.metrics.shared import floors, inputs, intervals, ranks, rows
from polyprobe.metrics.shared.inputs import ARGUMENTS, RESAMPLING
from polyprobe.metrics.shared.intervals import Resampling
from tests.metrics.cases import CASES, METRICS, RESULTS

SCORES, OTHER = [[0.1, 0.9, 0.3], [0.5, 0.6, 0.7]], [[0.3, 0.2, 0.1], [0.1, 0.6, 0.7]]
TWO = {"n_resamples": 0}


def load(name, **options):
    return evaluate.load(str(METRICS / name), keep_in_memory=True, **options)


@pytest.fixture(scope="module")
def metrics():
    evaluate.config.HF_UPDATE_DOWNLOAD_COUNTS, before = False, True
    yield {name: load(name) for name in CASES}
    evaluate.config.HF_UPDATE_DOWNLOAD_COUNTS = before


def to_objects(rows):
    column = np.empty(len(rows), dtype=object)
    for place, row in enumerate(rows):
        column[place] = np.array(row) if isinstance(row, list) else row
    return column


@pytest.mark.parametrize("module", [floors, inputs, intervals, ranks, rows])
def test_examples_of_the_shared_modules(module):
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0


CONTAINERS = {
    "tuple": tuple,
    "array of objects": to_objects,
    "series with another index": lambda rows: pd.Series(rows, index=range(7, 7 + len(rows))),
    "series of arrays": lambda rows: pd.Series(list(to_objects(rows))),
    "pyarrow": pa.array,
    "pyarrow in chunks": lambda rows: pa.chunked_array([pa.array(rows)[:1], pa.array(rows)[1:]]),
    "dataset": lambda rows: datasets.Dataset.from_dict({"x": rows})["x"],
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", CASES)
def test_containers_give_what_lists_do(name, container, metrics):
    listed = {**CASES[name], "groups": ["a", "b"], "n_resamples": 50, "seed": 3}
    expected = metrics[name].compute(**listed)
    given = {
        key: CONTAINERS[container](value) if isinstance(value, list) else np.array(value)
        for key, value in listed.items()
    }
    given["seed"], given["n_resamples"] = np.int64(3), np.array(50)
    assert metrics[name].compute(**given) == expected


@pytest.mark.parametrize("table", [np.array, pd.DataFrame, np.ma.masked_invalid])
def test_tables_of_scores_and_of_choices(table, metrics):
    expected = metrics["rankc"].compute(predictions=SCORES, references=OTHER)
    found = metrics["rankc"].compute(predictions=table(SCORES), references=table(OTHER))
    assert found == expected
    chosen = [[0, 1, 1], [2, 2, 0]]
    expected = metrics["answer_agreement"].compute(predictions=chosen)
    assert metrics["answer_agreement"].compute(predictions=table(chosen)) == expected


def test_the_masked_end_of_a_row_is_left_out(metrics):
    masked = np.ma.masked_equal([[1.0, 2.0, 9.0], [2.0, 1.0, 3.0]], 9)
    found = metrics["accuracy_at_1"].compute(predictions=masked, references=[1, 2], **TWO)
    assert (found["accuracy_at_1"], found["chance"]) == (1, (1 / 2 + 1 / 3) / 2)


@pytest.mark.parametrize(
    "right", [[1, 2], np.array([1, 2]), pd.Series([1, 2]), [[1], 2], np.array([[1], [2]])]
)
def test_one_index_is_a_single_correct_answer(right, metrics):
    scores = {"predictions": SCORES, **TWO}
    assert metrics["accuracy_at_1"].compute(**scores, references=right)["accuracy_at_1"] == 1
    assert metrics["recall_at_k"].compute(**scores, references=right)["mean_rank"] == 1
    chosen = {"predictions": [1, 2], "references": [1, 0], **TWO}
    assert metrics["coverlap"].compute(**chosen, answers=right)["coverlap"] == 1 / 2
    choices = {"predictions": [[1, 1], [2, 0]], "references": right, **TWO}
    assert metrics["answer_agreement"].compute(**choices)["agree_right"] == 1 / 2


@pytest.mark.parametrize("name", ["accuracy_at_1", "recall_at_k", "answer_agreement"])
def test_answers_is_another_name_of_the_gold(name, metrics):
    case = dict(CASES[name])
    expected = metrics[name].compute(**case)
    case["answers"] = case.pop("references")
    assert metrics[name].compute(**case) == expected
    whole = {key: case[key] for key in ("predictions", "answers")}
    metrics[name].add_batch(**whole)
    options = {key: value for key, value in case.items() if key not in whole}
    assert metrics[name].compute(**options) == expected


def test_agreement_needs_no_gold(metrics):
    metric = metrics["answer_agreement"]
    expected = metric.compute(predictions=[[0, 1], [1, 1]])
    metric.add(prediction=[0, 1])
    metric.add_batch(predictions=[[1, 1]])
    assert metric.compute() == expected
    assert "agree_right" not in expected


def test_the_tables_of_arguments_are_those_of_the_modules(metrics):
    assert Resampling._fields == RESAMPLING
    found = {"answers", *RESAMPLING}
    for metric in metrics.values():
        parameters = inspect.signature(type(metric).measure).parameters.values()
        found |= {x.name for x in parameters if x.kind is not x.VAR_KEYWORD}
    assert found == ARGUMENTS


@pytest.mark.parametrize("name", CASES)
def test_an_unknown_argument_names_the_known_ones(name, metrics):
    message = f"^unknown argument 'groop' of {name}; did you mean 'groups'. known: predictions, "
    with pytest.raises(ValueError, match=message):
        metrics[name].compute(**CASES[name], groop=[1, 2])
    with pytest.raises(ValueError, match=f"^unknown argument 'x' of {name}; known: "):
        load(name, x=1)
    with pytest.raises(ValueError, match="^unknown argument 'weight' of"):
        metrics[name].compute(**CASES[name], weight=None)
    with pytest.raises(ValueError, match="^unknown argument 'preds' of"):
        metrics[name].add_batch(**{key: [] for key in metrics[name].features}, preds=1)


@pytest.mark.parametrize("name", CASES)
def test_a_metric_combines_with_any_of_its_features(name, metrics):
    """The other metric ignores the keywords; results are JSON."""
    features = metrics[name].features

    class Count(evaluate.Metric):
        def _info(self):
            return evaluate.MetricInfo("", "", features)

        def _compute(self, **inputs):
            return {"count": len(inputs["predictions"])}

    case = {**CASES[name], "groups": ["a", "b"], "n_resamples": 50}
    alone = metrics[name].compute(**case)
    combined = evaluate.combine([metrics[name], Count(keep_in_memory=True)])
    assert combined.compute(**case) == {**alone, "count": 2}
    rows = {key: case.pop(key) for key in [*features] if key in case}
    singular = {"predictions": "prediction", "references": "reference"}
    combined.add(**{singular.get(key, key): column[0] for key, column in rows.items()})
    combined.add_batch(**{key: column[1:] for key, column in rows.items()})
    assert combined.compute(**case) == {**alone, "count": 2}
    assert json.loads(json.dumps(alone)) == alone


def test_a_combination_of_metrics_with_other_arguments():
    """Two languages' scores, the correct answers, and options of one metric each."""
    modules = [load("rankc", weights="norm1"), load("accuracy_at_1"), load("recall_at_k", k=2)]
    given = {"predictions": SCORES, "references": OTHER, "answers": [[1], [0]], **TWO}
    with pytest.warns(UserWarning, match="ignores") as warned:
        found = evaluate.combine(modules).compute(**given, weights="norm2")
    assert {str(warning.message) for warning in warned} == {
        "rankc ignores 'answers', an argument of other metrics",
        "accuracy_at_1 ignores 'weights', an argument of other metrics",
        "recall_at_k ignores 'weights', an argument of other metrics",
    }
    assert found["rankc"] == pytest.approx(((4 * 0 + 1 * 1 / 2) / 5 + 1) / 2)  # norm2: 4, 1, 0
    assert found["accuracy_at_1"] == 1 / 2
    assert found["recall@2"] == 1 / 2
    assert found["accuracy_at_1_n_queries"] == found["recall_at_k_n_queries"] == 2


def test_options_of_load_are_the_defaults_of_compute():
    scores = {"predictions": [[3, 2, 1]], "references": [[3, 1, 2]], **TWO}
    metric = load("rankc", weights="norm1", n_resamples=0)
    assert metric.compute(**scores)["rankc"] == pytest.approx((2 * 1 + 1 / 2) / 3)
    assert metric.compute(**scores, weights="norm2")["rankc"] == pytest.approx((4 * 1 + 1 / 2) / 5)


ODD = [
    *(None, True, -1, 1.5, 10**30, 1e308, float("nan"), float("inf"), 2j, "x", "", b"x"),
    *(np.array(1), np.array(1.5), np.array("x"), np.array([1, 2]), np.array([0.5]), np.float64(2)),
    *([], [[]], [[], []], [None, None], [[None], [1]], [1, 2], [1.0, 2.0], [True, False], {}, {1}),
    *([[1, 2], [3]], [[1], [[2]]], ["a", "b"], [["a"], ["b"]], ["a", ["b"]], ["a", 1], [{}, {}]),
    *([10**30, 1], [[10**400], [1]], [[2**62], [2**62]], [-1, 0], [[-1], [0]], [2**40, 1]),
    *([float("nan")] * 2, [[float("nan")] * 2] * 2, [[np.inf, -np.inf]] * 2, [1e308, 1e308]),
    *(np.zeros((2, 2, 2)), np.zeros((0, 3)), np.zeros((2, 0)), np.ones((2, 2)), np.ones(2) > 0),
    *(np.array(["a", None], dtype=object), np.array([1, "a"], dtype=object), object(), len, date),
    *(pd.Series([1, None]), pd.Series(["a", pd.NA]), pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})),
    *(pd.NaT, pa.array([1, None]), pa.scalar(1), Fraction(1, 2), range(2), (1, 2), iter([1, 2])),
    *(np.datetime64("2020-01-01"), slice(2), [date(2020, 1, 1)] * 2, [Fraction(1, 2), 1]),
]


def check_odd_calls(metrics, n_calls, seed):
    """Change one or two arguments of valid calls; only clear errors of one line may be raised."""
    source, messages = random.Random(seed), []
    for _ in range(n_calls):
        name = source.choice(list(CASES))
        own = inspect.signature(type(metrics[name]).measure).parameters
        names = [*metrics[name].features, *own, *RESAMPLING]
        given = {**CASES[name], "n_resamples": source.choice([0, 50])}
        for key in source.sample(names, source.choice([1, 1, 2])):
            given[key] = source.choice(ODD)
        given.pop("options", None)
        try:
            metrics[name].compute(**given)
        except ValueError as error:
            messages.append(str(error))
        except Exception as error:
            raise AssertionError(f"{name}.compute(**{given})") from error
    assert not [text for text in messages if "\n" in text or not 10 < len(text) < 300]
    assert len(messages) > n_calls / 2
    for name, (key, value) in RESULTS.items():
        assert metrics[name].compute(**CASES[name])[key] == pytest.approx(value)


@pytest.mark.filterwarnings("error:.*:RuntimeWarning")
def test_odd_arguments_raise_clear_errors(metrics):
    check_odd_calls(metrics, 150, seed=1)


@pytest.mark.slow
@pytest.mark.acceptance
@pytest.mark.filterwarnings("error:.*:RuntimeWarning")
def test_many_odd_arguments_raise_clear_errors(metrics):
    check_odd_calls(metrics, 1500, seed=2)


NO_SHARES = {  # five equal queries, and the figures that are differences, ranks or corrected
    "rankc": ({"predictions": [3, 2, 1], "references": [3, 2, 1]}, {"rankc_adjusted"}),
    "rankc_subject": (
        {
            **{"predictions": [3, 2, 1], "references": [3, 2, 1]},
            **{"donor_predictions": [1, 3, 2], "donor_references": [1, 3, 2]},
        },
        {"rankc_subject", "rankc_difference", "rankc_interaction", "rankc_room"},
    ),
    "rank_overlap": ({"predictions": [3, 2, 1], "references": [3, 2, 1]}, {"kendall_tau_b"}),
    "accuracy_at_1": ({"predictions": [3, 2, 1], "references": [0]}, set()),
    "recall_at_k": ({"predictions": [3, 2, 1], "references": [2]}, {"mean_rank"}),
    "coverlap": ({"predictions": 0, "references": 0, "answers": [0]}, set()),
    "answer_match": ({"predictions": "a", "references": ["a"], "languages": "en"}, set()),
    "answer_agreement": ({"predictions": [0, 0], "references": [1], "n_candidates": 2}, {"kappa"}),
    "factual_accuracy": ({"predictions": "a", "references": ["b"]}, set()),
    "paraphrase_consistency": ({"predictions": ["a", "a"], "references": "a"}, set()),
    "contrastive_knowledge": ({"predictions": [0.1, 0.3]}, set()),
    "inflection_delta": ({"predictions": 4, "references": 2}, {"inflection_delta"}),
}


def test_a_figure_that_is_no_mean_of_queries_has_a_test_of_its_own():
    assert {*CASES} - {*NO_SHARES} == {"factual_transfer"}


@pytest.mark.parametrize("name", NO_SHARES)
def test_every_share_has_an_interval_with_a_width_at_0_and_1(name, metrics):
    query, others = NO_SHARES[name]
    found = metrics[name].compute(**{key: [value] * 5 for key, value in query.items()})
    bounds = {key[:-3]: value for key, value in found.items() if key.endswith("_ci")}
    narrow = {key for key, (low, high) in bounds.items() if low == high}
    assert {key for key in narrow if "chance" not in key} == others
    assert {key for key in bounds if "chance" in key} <= narrow
    assert all(high - low > 0.3 for key, (low, high) in bounds.items() if key not in narrow)
    assert all(found[key] == low for key, (low, _) in bounds.items() if key in narrow)
