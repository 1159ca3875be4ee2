"""The kinds of servers, and which one an address has."""

import os
from functools import partial
from typing import Any

from polyprobe.system.errors import PolyprobeError
from polyprobe.system.sending import (
    BrokenAnswerError,
    NoAnswerError,
    Pace,
    Requests,
    check_address,
    hide_password,
)

from .llamacpp import LlamaCpp
from .openai import Completions, Vllm
from .server import Server, readable

# In the order of asking: the last one takes every server with OpenAI's completions.
KINDS: tuple[type[Server], ...] = (Vllm, LlamaCpp, Completions)
KEY = "POLYPROBE_API_KEY"
TIMEOUT = 300.0  # seconds until an answer is complete: a server may have a queue


def new_client() -> Any:
    """Return an HTTP client, with the key of POLYPROBE_API_KEY if it is set."""
    import httpx

    key = os.environ.get(KEY)
    if key and not (key.isascii() and key.isprintable()):
        raise PolyprobeError(f"{KEY} has characters that no key has; set it again")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.AsyncClient(timeout=TIMEOUT, headers=headers)


async def connect(url: str, model: str) -> Server:
    """Recognise the server at an address, with what it says of the model."""
    # Addresses are often copied from a client of OpenAI, which has the version in them.
    base = check_address("--server", url).removesuffix("/v1")
    requests = Requests(Pace(tries=3, longest_wait=2.0), None, 30.0)
    async with new_client() as client:
        for kind in KINDS:
            try:
                with readable():
                    served = await requests.send(partial(kind.find, client, base, model))
            except (NoAnswerError, BrokenAnswerError) as error:
                scheme = " (http, not https?)" if base.startswith("https:") else ""
                raise PolyprobeError(
                    f"no model server answers at {hide_password(base)} ({error}); start it, or "
                    f"correct --server{scheme}"
                ) from error
            if served:
                return kind(served)
    raise AssertionError(url)
