"""Log-probabilities that no model gives: wrong sums, floors, rounding."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

ABOVE_ONE, BELOW_ONE = 1e-3, 1e-2  # of sums of probabilities, by rounding
N_EQUAL = 3  # places with exactly the same least value: those of a model differ in some digit
STEP, BITS = 0.005, 11  # rounding to these decimals or bits of mantissa changes 1e-3 nats
REPEATED = 0.1  # share of values that occur before: 0.02 with 3 decimals
UNDERFLOW = -80.0  # below, llama.cpp's probabilities have few bits or are 0


class Place(NamedTuple):
    """Log-probabilities behind a beginning."""

    token: float | None  # that of the prompt's next token; None without
    best: list[float]  # the largest ones, in order; empty if unknown


def read_place(value: float | None, top: Mapping[Any, float] | None) -> Place:
    """Read a place; a token that is not among the best may be listed behind them."""
    best = sorted(map(float, (top or {}).values()), reverse=True)
    return Place(value, best[:-1] if best and value == best[-1] else best)


def find_fault(places: Sequence[Place], vocabulary: int) -> str:
    """Describe what is wrong with log-probabilities; nothing if a model can have them."""
    lows = [
        min((x for x in place.best if x > UNDERFLOW), default=0.0)
        if place.token is None
        else place.token
        for place in places
    ]
    return _find_sum(places, vocabulary) or find_floor(lows) or _find_rounding(places)


def _find_sum(places: Sequence[Place], vocabulary: int) -> str:
    # Each other token has at most the least probability of the best; a model may have more tokens
    # than its tokenizer. A list that is shorter than others lacks a token whose text occurs twice.
    size = max(len(place.best) for place in places)
    full = [place for place in places if len(place.best) == size > 1]
    n_others = 2 * vocabulary - size if size < vocabulary else 0
    sums = [math.fsum(math.exp(min(x, 1.0)) for x in place.best) for place in full]
    bounds = [x + n_others * math.exp(y.best[-1]) for x, y in zip(sums, full, strict=True)]
    if not all(total <= 1 + ABOVE_ONE for total in sums):  # or NaN
        return "probabilities add up to more than one"
    if min(bounds, default=1.0) < 1 - BELOW_ONE:
        return (
            f"probabilities add up to {min(bounds):.3g} at most: log-probabilities have another "
            "base than e, or are cut or shifted"
        )
    outside = [x.token == x.best[-1] for x in full if x.token and x.token <= x.best[-1]]
    unlikely = sum(outside) >= max(N_EQUAL, len(outside) / 2)
    return "unlikely tokens have the log-probability of a likely one" if unlikely else ""


def find_floor(lows: Sequence[float]) -> str:
    """Describe the least value of several places, if it is that of `N_EQUAL` of them."""
    floor = min(lows, default=0.0)
    if floor == 0 or lows.count(floor) < N_EQUAL:
        return ""
    return f"the least log-probabilities are all {floor:.6g}: unlikely tokens have one floor"


def _find_rounding(places: Sequence[Place]) -> str:
    tokens = [x.token for x in places if x.token is not None and x.token < -0.1]
    values = np.array(tokens or [x for place in places for x in place.best])
    on_steps = np.abs(values / STEP - np.round(values / STEP)).max() < 1e-3
    few_bits = not (values.astype(np.float32).view(np.int32) & (2 ** (23 - BITS) - 1)).any()
    repeated = len(tokens) - len({*tokens}) > REPEATED * len(tokens)
    return "log-probabilities are rounded" if on_steps or few_bits or repeated else ""
