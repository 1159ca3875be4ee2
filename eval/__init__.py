"""Put a model in front of a dataset: scorer, scores, metrics, report."""

from importlib import import_module
from typing import Any

__all__ = ["ConsistencyCallback", "evaluate_model", "load_scorer"]

_HOME = {
    "ConsistencyCallback": "callback",
    "evaluate_model": "evaluate",
    "load_scorer": "models",
}


def __getattr__(name: str) -> Any:
    # Lazy, because these import torch, which results and reports do without.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
