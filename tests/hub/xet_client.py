"""Lets huggingface_hub upload large files as it does for its users: over Xet, by hf_xet."""

from pathlib import Path

import pytest
from huggingface_hub import constants
from huggingface_hub.utils import _xet

# What failed is tried once more, at once; by default five times within six minutes.
QUICK = {"HF_XET_CLIENT_RETRY_MAX_ATTEMPTS": "1", "HF_XET_CLIENT_RETRY_BASE_DELAY": "1ms"}
XET = {"HF_HUB_DISABLE_XET": "0", **QUICK}  # the variables of a process, see client.run_client


def use_xet(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """Make the clients of this process upload over Xet, with a cache of their own.

    hf_xet records there the content of a storage, by the storage's address: with an empty
    one it behaves as on another machine. It reads its variables when a session begins.
    """
    for key, value in QUICK.items():
        monkeypatch.setenv(key, value)
    monkeypatch.setenv("HF_XET_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", False)
    monkeypatch.setattr(_xet, "_GLOBAL_XET_HOLDER", _xet.XetSessionHolder())
