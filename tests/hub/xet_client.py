"""Lets huggingface_hub upload large files as it does for its users: over Xet, by hf_xet."""

from pathlib import Path

import pytest
from huggingface_hub import constants
from huggingface_hub.utils import _xet

# One immediate retry; by default five within six minutes.
QUICK = {"HF_XET_CLIENT_RETRY_MAX_ATTEMPTS": "1", "HF_XET_CLIENT_RETRY_BASE_DELAY": "1ms"}
XET = {"HF_HUB_DISABLE_XET": "0", **QUICK}  # the variables of a process, see client.run_client


def use_xet(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """Make the clients of this process upload over Xet, with a separate cache.

    hf_xet caches the content of a storage by its address: with an empty cache it behaves as on
    another machine. It reads its variables at the start of a session.
    """
    for key, value in QUICK.items():
        monkeypatch.setenv(key, value)
    monkeypatch.setenv("HF_XET_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", False)
    monkeypatch.setattr(_xet, "_GLOBAL_XET_HOLDER", _xet.XetSessionHolder())
