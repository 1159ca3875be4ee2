"""Expected calibration error (Guo et al. 2017, equations 1 to 3; X-FACTR's `reliability`)."""

from typing import Any

import numpy as np
import pyarrow as pa

from polyprobe.metrics.shared.rows import Rows

N_BINS = 10


def measure_calibration(confidence: np.ndarray, right: np.ndarray) -> dict[str, Any]:
    """Compute the expected calibration error (ECE) of some answers, and its bins.

    ECE = sum_b n_b / N |acc_b - conf_b| over ten bins of equal width, [0, .1), …, [.9, 1]; 0 is
    best. With few facts it is too high: also a perfect model has about N_b^(-1/2) in each bin.
    `right` is 1 or 0, or the probability of being right under ties [facts].
    """
    places = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    n, sums, correct = (
        np.bincount(places, weights, N_BINS) for weights in (None, confidence, right)
    )
    means = [
        [float(total / size) if size else None for total, size in zip(totals, n, strict=True)]
        for totals in (sums, correct)
    ]
    return {
        "ece": float(np.abs(correct - sums).sum() / len(right)) if len(right) else None,
        "n_queries": len(right),
        "bins": {"n": n.tolist(), "confidence": means[0], "accuracy": means[1]},
    }


def calibrate_predictions(
    table: pa.Table, right: np.ndarray, length_norm: bool = False
) -> dict[str, Any]:
    """Compute the calibration of one language's free predictions, of all, single and multi."""
    answered = ~np.isnan(right)
    columns = table.select(["n_masks", "log_probability"]).filter(pa.array(answered))
    masks, values = (column.to_numpy().astype(np.float64) for column in columns.columns)
    # exp(mean log c) of the prediction's tokens, whether or not the lengths compete by their means
    confidence = np.exp(values if length_norm else values / masks)
    single = np.array(table["single_token"].filter(pa.array(answered)).to_pylist(), dtype=bool)
    result = measure_calibration(confidence, right[answered])
    for name, part in {"single": single, "multi": ~single}.items():
        figures = measure_calibration(confidence[part], right[answered][part])
        result |= {
            f"ece_{name}": figures["ece"],
            f"n_{name}": figures["n_queries"],
            f"bins_{name}": figures["bins"],
        }
    return result


def find_confidence(rows: Rows) -> np.ndarray:
    """Compute the softmax of each row's scores, in nats, at their maximum."""
    starts = rows.sizes.cumsum() - rows.sizes
    scores: np.ndarray = rows.flat.astype(np.float64)
    best: np.ndarray = np.repeat(np.maximum.reduceat(scores, starts), rows.sizes)
    # equal scores differ by 0, also those of -inf: the softmax is uniform there
    below = np.subtract(scores, best, out=np.zeros_like(scores), where=scores != best)
    return 1 / np.add.reduceat(np.exp(below), starts)
