"""Waiting for what must come: long enough for a busy machine, and no longer than needed."""

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 600.0  # seconds


def wait_until(condition: Callable[[], Any]) -> Any:
    """Return the first true value of the condition; fail after `PATIENCE` seconds."""
    end = time.monotonic() + PATIENCE
    while not (value := condition()):
        assert time.monotonic() < end, f"waited {PATIENCE:.0f} s in vain"
        time.sleep(0.05)
    return value
