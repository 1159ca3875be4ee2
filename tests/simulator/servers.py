"""Servers without sockets: httpx's transport asks the stand-ins, or lets a request fail."""

import io
import json
from collections.abc import Sequence
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx
import pytest

from polyprobe.builder.translators import Translator
from polyprobe.builder.translators.translator import Job
from polyprobe.system.sending import BrokenAnswerError, http_failures
from tests.hub.messages import Token
from tests.hub.server import HubHandler, HubServer
from tests.scoring.served.stand_in import Handler, StandIn

from .machine import Killed, Machine

MODEL, TRANSLATOR = "model.test", "translator.test"
TOKEN = "hf_simulated"
LONG = 1000.0  # seconds of a request that no client waits for


class Socket:
    """A connection that holds a request, and then the answer."""

    def __init__(self, request: bytes) -> None:
        self.request, self.answer = io.BytesIO(request), io.BytesIO()

    def makefile(self, mode: str, *size: int) -> io.BytesIO:
        """Give the side to read from."""
        return self.request

    def sendall(self, data: bytes) -> None:
        """Take a part of the answer."""
        self.answer.write(data)

    def shutdown(self, how: int) -> None:
        """Nothing more comes."""


def ask(
    handler: type[BaseHTTPRequestHandler], server: Any, request: httpx.Request
) -> httpx.Response:
    """Let a handler answer a request."""
    head = f"{request.method} {request.url.raw_path.decode()} HTTP/1.1\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
    if "content-length" not in request.headers:
        head += f"content-length: {len(request.content)}\r\n"
    socket = Socket(f"{head}\r\n".encode("latin-1") + request.content)
    handler(socket, ("127.0.0.1", 1), server)
    head, _, body = socket.answer.getvalue().partition(b"\r\n\r\n")
    if not head:
        raise httpx.RemoteProtocolError("closed", request=request)
    lines = head.decode("latin-1").split("\r\n")
    headers = [tuple(line.split(": ", 1)) for line in lines[1:]]
    return httpx.Response(int(lines[0].split()[1]), headers=headers, content=body, request=request)


class Network:
    """The servers that requests reach, and the faults between."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.model = StandIn("vllm")
        self.hub = HubServer()
        self.hub.tokens[TOKEN] = Token("me")

    def close(self) -> None:
        """Release the ports and the folder of the Hub."""
        self.model.server_close()
        self.hub.server_close()

    def handle(self, request: httpx.Request) -> httpx.Response:
        """Answer a request, or fail as the process's fault says."""
        process = self.machine.current
        if process is None or process.dead:
            raise Killed
        kind = process.operate("request")
        match kind:
            case "drop":
                raise httpx.ConnectError("lost", request=request)
            case "slow":
                self.machine.now += LONG
                raise httpx.ReadTimeout("slow", request=request)
            case "busy":
                return httpx.Response(429, headers={"Retry-After": "1"}, request=request)
            case "broken":
                return httpx.Response(503, content=b"overloaded", request=request)
            case "page":
                page = {"content-type": "text/html"}
                return httpx.Response(200, headers=page, content=b"<html>", request=request)
        answer = self.answer(request)
        if kind == "lost":
            raise httpx.RemoteProtocolError("lost", request=request)
        if kind == "cut" and answer.content:
            half = answer.content[: len(answer.content) // 2]
            headers = {**answer.headers, "content-length": str(len(half))}
            return httpx.Response(
                answer.status_code, headers=headers, content=half, request=request
            )
        return answer

    def answer(self, request: httpx.Request) -> httpx.Response:
        """Answer a request, by its host."""
        if request.url.host == MODEL:
            return ask(Handler, self.model, request)
        if request.url.host == TRANSLATOR:
            texts = [f"Voici : {text}" for text in json.loads(request.content)]
            return httpx.Response(200, json=texts, request=request)
        return ask(HubHandler, self.hub, request)

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Put the network below all clients of httpx."""

        def handle(transport: Any, request: httpx.Request) -> httpx.Response:
            request.read()
            return self.handle(request)

        async def handle_async(transport: Any, request: httpx.Request) -> httpx.Response:
            await request.aread()
            return self.handle(request)

        patch.setattr(httpx.HTTPTransport, "handle_request", handle)
        patch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", handle_async)


class Parrot(Translator):
    """A translator behind HTTP, which puts a word before each sentence."""

    name = "parrot"
    signature = "parrot|1"
    batch_size = 3

    @asynccontextmanager
    async def connect(self):
        """Hold a client open."""
        async with httpx.AsyncClient() as self._client:
            yield

    async def ask(self, batch: Sequence[Job], source: str, target: str) -> list[str]:
        """Ask for the texts of a batch."""
        with http_failures(self.name):
            response = await self._client.post(
                f"http://{TRANSLATOR}/", json=[job.sentence for job in batch]
            )
            response.raise_for_status()
            texts = response.json()
        if not isinstance(texts, list):
            raise BrokenAnswerError("no list")
        return texts
