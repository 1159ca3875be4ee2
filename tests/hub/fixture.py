"""The stand-in Hub in a thread, and as a pytest fixture for all tests (see tests/conftest.py)."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from tests.hub.server import HubServer


@contextmanager
def serve_hub() -> Iterator[HubServer]:
    with HubServer() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def hub() -> Iterator[HubServer]:
    """Yield a running stand-in Hub on a free port, empty: `hub.add("dataset", "me/geo", folder)`.

    `hub.url` is the endpoint for `HF_ENDPOINT` (see `client.run_client`), `hub.requests` all
    requests, `hub.asked("resolve", "GET")` a selection; `client.NOWHERE` is the endpoint of a
    machine without a network. Writing requires a token of `hub.tokens`. Written repositories are in
    `hub.repositories[kind, name]`, the uploads in `hub.uploaded()`, and `hub.fail("/commit/", 500)`
    makes a request fail. A request unknown to the stand-in fails the test.
    """
    with serve_hub() as server:
        yield server
    assert server.unknown == []
