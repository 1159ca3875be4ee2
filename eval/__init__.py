"""Put a model in front of a dataset: scorer, scores, metrics, report."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers
    from .callback import ConsistencyCallback
    from .evaluate import evaluate_model
    from .scoring.load import load_scorer

__all__ = ["ConsistencyCallback", "evaluate_model", "load_scorer"]

_HOME = {
    "ConsistencyCallback": "callback",
    "evaluate_model": "evaluate",
    "load_scorer": "scoring.load",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


def __getattr__(name: str) -> Any:
    # Lazy, because these import torch, which results and reports do without.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
