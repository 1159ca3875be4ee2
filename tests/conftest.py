"""Shared by all tests."""

import os

from .hub.fixture import hub

__all__ = ["hub"]

# Small models gain nothing from threads, and tests that run side by side lose by them.
os.environ.setdefault("OMP_NUM_THREADS", "1")
