"""Ask a model in the midst of its training, and leave everything as it was."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


@contextmanager
def untouched(model: Any) -> Iterator[Any]:
    """Give the model as a checkpoint would be; training goes on as if it had not been asked.

    Dropout is off, and mixed precision too. Put back are the modes of its parts, its `forward`,
    and the generators of random numbers.
    """
    with _kept_modes(model), _kept_random(model.device), _own_forward(model):
        yield model


@contextmanager
def _kept_modes(model: torch.nn.Module) -> Iterator[None]:
    """Switch dropout off, then put each part back as it was."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


@contextmanager
def _kept_random(device: torch.device) -> Iterator[None]:
    """Put the generators back that training draws from; a class may draw when it is asked."""
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
    """Call the model without the casts that accelerate puts around it for mixed precision."""
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
