"""Run a model on a dataset: load, score, store, compute."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers
    from polyprobe.scoring.load import load_scorer

    from .callback import ConsistencyCallback
    from .evaluate import evaluate_model
    from .imports import import_scores, judge_answers

__all__ = ["ConsistencyCallback", "evaluate_model", "import_scores", "judge_answers", "load_scorer"]
_HOME = {
    "ConsistencyCallback": "polyprobe.eval.callback",
    "evaluate_model": "polyprobe.eval.evaluate",
    "import_scores": "polyprobe.eval.imports",
    "judge_answers": "polyprobe.eval.imports",
    "load_scorer": "polyprobe.scoring.load",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


def __getattr__(name: str) -> Any:
    # Lazy, because these import torch, which results and reports do without.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
