"""The Hub's client in this process, for the stand-in, with a token and without waits."""

import time
from types import SimpleNamespace

import huggingface_hub
import pytest
from huggingface_hub import HfApi, constants

TOKEN = "hf_abcdefghijklmnopqrstuvwxyz012345"


@pytest.fixture
def api(hub, monkeypatch) -> HfApi:
    """An HfApi of the stand-in, with the token of `me`, that does not wait between retries."""
    hub.tokens[TOKEN] = hub_token("me")
    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    at_once = SimpleNamespace(**vars(time) | {"sleep": lambda seconds: None})
    monkeypatch.setattr(huggingface_hub.utils._http, "time", at_once)
    return HfApi()


def hub_token(user, **rights):
    from tests.hub.tokens import Token

    return Token(user, **rights)
