"""Compute the results of free predictions (X-FACTR), also of fillings that did not win."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from polyprobe.analysis.errors.types import measure_language
from polyprobe.metrics.factual_accuracy.formulas import (
    find_matches,
    match,
    measure_factual_accuracy,
)
from polyprobe.metrics.shared.intervals import Figure, estimate_figure, mean_of
from polyprobe.metrics.shared.rows import mean_known, name_pairs, take
from polyprobe.schema.run.fillings import count_masks, replace_column, value_of

from .facts import count_correct
from .further.calibration import calibrate_predictions
from .further.relations import split_figures

_MATCHED = ["relation", "prompt", "answer_forms", "prediction", "single_token"]
ROUNDING = 1e-4  # nats between two readings of one filling in other batches


def summarize_predictions(
    tables: Mapping[str, pa.Table],
    resampling: Mapping[str, Any],
    within: Sequence[str] | None = None,
    length_norm: bool = False,
    average: str = "macro",
) -> dict[str, Any]:
    """Return factual accuracy by language, COverlap by pair, and what other lengths would give.

    `accuracy` is the average over relations (or rows) of the facts asked in that language; COverlap
    is over the facts asked in both. Without rankings there is no RankC; without candidates there is
    no chance level. See `measure_lengths` for the figures of the fillings that did not win.

    Args:
        tables: predictions by language, the same facts.
        resampling: n_resamples, seed, and clusters: the unit of each row, None for facts.
        within: the unit of each row within a relation.
        length_norm: whether fillings are compared by the mean of log c.
        average: `macro` over relations or `micro` over rows, of `accuracy` and its parts.
    """
    resampling = {**resampling, "average": average}
    first = next(iter(tables.values()))
    accuracy = {x: _measure(table, x, resampling) for x, table in tables.items()}
    right = mark_predictions(tables)
    figures = {"accuracy": mark_accuracy(right), "coverlap": find_overlaps(right)}
    unit = {name: resampling[name] for name in ("n_resamples", "seed", "clusters")}
    coverlap = estimate_figure(figures["coverlap"], **unit)
    pairs = name_pairs(list(tables))
    bounds = {x: figures.get("all_ci") for x, figures in accuracy.items()}
    return {
        "languages": list(tables),
        "n_queries": len(first),
        "accuracy": {x: figures["all"] for x, figures in accuracy.items()},
        "factual_accuracy": accuracy,
        "error_types": {x: measure_language(t, right[x], x, unit) for x, t in tables.items()},
        **measure_lengths(tables, resampling, length_norm),
        "calibration": {
            x: calibrate_predictions(table, right[x], length_norm) for x, table in tables.items()
        },
        **compare_with_gold(tables, length_norm, average),
        "coverlap": {pair: coverlap[pair] for pair in pairs},
        **count_correct({x: np.nan_to_num(marks) for x, marks in right.items()}),
        "mean": {
            "accuracy": mean_known(figures["all"] for figures in accuracy.values()),
            "coverlap": coverlap["mean"],
        },
        "by_relation": split_figures(
            figures,
            first["relation"].to_pylist(),
            within,
            resampling["n_resamples"],
            resampling["seed"],
        ),
        "intervals": {
            "accuracy": bounds,
            "coverlap": {pair: coverlap[f"{pair}_ci"] for pair in pairs},
            "mean": {"coverlap": coverlap["mean_ci"]},
        }
        if resampling["n_resamples"]
        else {},
        "left_out": {
            "coverlap": [coverlap[pair] for pair in pairs].count(None),
            "facts": {x: table["single_token"].null_count for x, table in tables.items()},
        },
    }


def measure_lengths(
    tables: Mapping[str, pa.Table], resampling: Mapping[str, Any], length_norm: bool = False
) -> dict[str, dict[str, Any]]:
    """Return the accuracy that other numbers of masks give.

    Source: X-FACTR (Jiang et al. 2020), section 5 and figure 4.

    Args:
        tables: predictions by language, with their fillings.
        resampling: see `summarize_predictions`.
        length_norm: whether fillings are compared by the mean of log c.

    Returns:
        By language: `oracle_length`, factual accuracy where the length of the answer is known (see
        `predict_right_length`); `single_mask`, that of the filling of one mask, the protocol of
        earlier work; `by_masks`, for `all`, `single` and `multi` the accuracy with at most 1, 2, …
        M masks, a list; `n_masks`, the number of predictions of 1, 2, … M masks. Accuracies are
        averaged as those of `summarize_predictions`.
    """
    found: dict[str, dict[str, Any]] = {
        name: {} for name in ("oracle_length", "single_mask", "by_masks", "n_masks")
    }
    for language, table in tables.items():
        fillings = table["fillings"].to_pylist()
        known = predict_right_length(table, language)
        single = [row[0]["text"] if row else None for row in fillings]
        for name, texts in {"oracle_length": known, "single_mask": single}.items():
            read = replace_column(table, "prediction", texts)
            found[name][language] = _measure(read, language, resampling)
        average = resampling.get("average", "macro")
        found["by_masks"][language] = _limit_masks(table, language, length_norm, average)
        used = table["n_masks"].drop_null().to_numpy()
        found["n_masks"][language] = np.bincount(used, minlength=count_masks(table) + 1)[
            1:
        ].tolist()
    return found


def compare_with_gold(
    tables: Mapping[str, pa.Table], length_norm: bool = False, average: str = "macro"
) -> dict[str, dict[str, Any]]:
    """Return how often the prediction is at least as probable as the right answer; empty if unread.

    As the task `logprob` of X-FACTR's released code. The right answer has the confidences that
    `recompute` gives, each token with all others filled; the prediction has those of its decoder.

    Args:
        tables: predictions by language, with `gold_log_c` (`--gold`).
        length_norm: compare means of log c, not sums.
        average: `macro` over relations or `micro` over rows.

    Returns:
        `prediction_at_least_gold` by language: for `all`, `single` and `multi` the share of facts
        whose prediction has at least the value of the right answer.
        Differences below 1e-4 nats, those of rounding, count as equal.
    """
    if all(table["gold_log_c"].null_count == len(table) for table in tables.values()):
        return {}
    found = {}
    for language, table in tables.items():
        rows = table.filter(table["gold_log_c"].is_valid()).to_pylist()
        right = np.array([_reaches_gold(row, length_norm) for row in rows], dtype=bool)
        single = np.array([row["single_token"] for row in rows], dtype=bool)
        relations = [row["relation"] for row in rows]
        parts = {"all": single | True, "single": single, "multi": ~single}
        found[language] = {
            name: _average(right, part, relations, average) for name, part in parts.items()
        }
    return {"prediction_at_least_gold": found}


def _reaches_gold(row: Mapping[str, Any], length_norm: bool) -> bool:
    own = row["fillings"][row["n_masks"] - 1]["log_c"]
    gold = row["gold_log_c"]
    return value_of(own, length_norm) >= value_of(gold, length_norm) - ROUNDING


def predict_right_length(table: pa.Table, language: str) -> list[str | None]:
    """Return the filling that is right if the number of tokens of the answer is known, else None.

    Each accepted form is compared with the filling of its own number of tokens, in English also
    with the one that has a token less, for the full stop. A form that is longer than all fillings
    is compared with the prediction. As in the released code (`ana.py --gold_len`).
    """
    names = ["prompt", "answer_forms", "form_lengths", "fillings", "prediction"]
    found: list[str | None] = []
    for prompt, forms, lengths, fillings, prediction in zip(
        *(table[name].to_pylist() for name in names), strict=True
    ):
        pairs = zip(forms, lengths, strict=True) if fillings else ()
        offered = (
            (text, form)
            for form, length in pairs
            for text in _offer(fillings, length, prediction, language)
        )
        right = (text for text, form in offered if match(text, [form], language, prompt))
        found.append(next(right, None))
    return found


def _offer(
    fillings: Sequence[Mapping[str, Any]], length: int, prediction: str, language: str
) -> list[str]:
    if not 1 <= length <= len(fillings):
        return [prediction]
    shortest = max(1, length - 1) if language == "en" else length
    return [fillings[m - 1]["text"] for m in range(length, shortest - 1, -1)]


def _limit_masks(
    table: pa.Table, language: str, length_norm: bool, average: str
) -> dict[str, list[Any]]:
    """Return the accuracies with at most 1, 2, … M masks, macro or micro."""
    asked = table["single_token"].is_valid().to_numpy()
    rows = table.filter(pa.array(asked)).to_pydict()
    single = np.array(rows["single_token"], dtype=bool)
    counted = {"all": np.ones(len(single), dtype=bool), "single": single, "multi": ~single}
    best = np.full(len(single), -np.inf)
    right: np.ndarray = np.zeros(len(single), dtype=bool)
    curves: dict[str, list[Any]] = {name: [] for name in counted}
    for m in range(count_masks(table)):
        offered = [row[m] for row in rows["fillings"]]
        values = np.array([value_of(one["log_c"], length_norm) for one in offered])
        wins = values > best if m else np.ones(len(single), dtype=bool)
        best = np.where(wins, values, best)
        for k in np.flatnonzero(wins):
            accepted, prompt = rows["answer_forms"][k], rows["prompt"][k]
            right[k] = match(offered[k]["text"], accepted, language, prompt)
        for name, part in counted.items():
            curves[name].append(_average(right, part, rows["relation"], average))
    return curves


def _average(
    right: np.ndarray, counted: np.ndarray, relations: Sequence[str], average: str
) -> float | None:
    """Return the share of right facts, macro over relations or micro; None without facts."""
    if average == "micro":
        return float(right[counted].mean()) if counted.any() else None
    codes = np.unique(relations, return_inverse=True)[1]
    sizes = np.bincount(codes, counted)
    shares = np.bincount(codes, right & counted)[sizes > 0] / sizes[sizes > 0]
    return float(shares.mean()) if len(shares) else None


def mark_accuracy(right: Mapping[str, np.ndarray]) -> Figure:
    """Return the share of correct facts by language, over the facts asked in it."""
    values = np.column_stack(list(right.values()))
    return mean_of(list(right), np.nan_to_num(values), ~np.isnan(values))


def find_overlaps(right: Mapping[str, np.ndarray]) -> Figure:
    """Return COverlap by pair over the facts asked in both languages (`mark_predictions`)."""
    values = np.column_stack(list(right.values()))
    one, other = np.triu_indices(values.shape[1], 1)
    first, second = values[:, one], values[:, other]
    asked = ~np.isnan(first + second)
    both = np.where(asked, first * second, 0)
    either = np.where(asked, np.maximum(first, second), 0)
    return mean_of(name_pairs(list(right)), both, either, share=True)


def _measure(table: pa.Table, language: str, options: Mapping[str, Any]) -> dict[str, Any]:
    asked = table["single_token"].is_valid().to_numpy()
    rows = table.select(_MATCHED).filter(pa.array(asked)).to_pydict()
    if not rows["relation"]:  # all its labels have unknown tokens
        return {"all": None, "single": None, "multi": None, "n_queries": 0}
    figures = measure_factual_accuracy(
        rows["prediction"],
        rows["answer_forms"],
        rows["single_token"],
        language=language,
        prompts=rows["prompt"],
        groups=rows["relation"],
        clusters=take(options["clusters"], np.flatnonzero(asked)),
        average=options.get("average", "macro"),
        n_resamples=options["n_resamples"],
        seed=options["seed"],
    )
    return {name: value for name, value in figures.items() if name != "by_group"}


def mark_predictions(tables: Mapping[str, pa.Table]) -> dict[str, np.ndarray]:
    """Return 1 for correct facts and 0 for others in each language; NaN for facts not asked."""
    marks = {}
    for language, table in tables.items():
        rows = table.select(_MATCHED).to_pydict()
        right = find_matches(rows["prediction"], rows["answer_forms"], language, rows["prompt"])
        marks[language] = np.where(table["single_token"].is_valid().to_numpy(), right, np.nan)
    return marks
