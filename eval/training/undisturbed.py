"""Evaluate a model during its training without side effects."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


@contextmanager
def undisturbed(model: Any) -> Iterator[Any]:
    """Yield the model as a saved checkpoint would be; training continues undisturbed.

    Dropout and mixed precision are off. Module modes, `forward` and random generators are restored.
    """
    with _kept_modes(model), _kept_random(model.device), _own_forward(model):
        yield model


@contextmanager
def _kept_modes(model: torch.nn.Module) -> Iterator[None]:
    """Switch dropout off, then restore the mode of each module."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


@contextmanager
def _kept_random(device: torch.device) -> Iterator[None]:
    """Restore the random generators of training; a forward pass may use them."""
    python, numpy = random.getstate(), np.random.get_state()
    devices = [device] if device.type == "cuda" else []
    try:
        with torch.random.fork_rng(devices):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)


@contextmanager
def _own_forward(model: Any) -> Iterator[None]:
    """Call the model without accelerate's casts for mixed precision."""
    wrapped = vars(model).get("forward")
    own = vars(model).get("_original_forward")
    if wrapped is None or own is None:
        yield
        return
    model.forward = own
    try:
        yield
    finally:
        model.forward = wrapped
