"""A stand-in for the Hugging Face Hub on 127.0.0.1, reading and writing.

It answers the requests of huggingface_hub 2.4, datasets 5.2, transformers 5.23 and
evaluate 0.4.6;
KIND is model, dataset or space, PAGE is NAME, datasets/NAME or spaces/NAME:

    GET       /api/whoami-v2
    GET       /api/KINDs/NAME[/revision/REV]          info
    GET       /api/KINDs/NAME/tree/REV[/PATH]         ?recursive=…
    POST      /api/KINDs/NAME/paths-info/REV          form or JSON: paths
    GET       /api/KINDs/NAME/refs, /commits/REV
    HEAD GET  /PAGE/resolve/REV/PATH                  ETag, X-Repo-Commit, ranges

    POST      /api/repos/create
    POST      /api/KINDs/NAME/branch/NAME, /tag/REV
    POST      /api/validate-yaml                      a README's metadata: errors, warnings
    POST      /api/KINDs/NAME/preupload/REV           ?create_pr=…; regular or lfs for each file
    POST      /api/KINDs/NAME/commit/REV              NDJSON; ?create_pr=…
    GET POST  /api/KINDs/NAME/discussions[/N[/merge]] pull requests only
    POST      /PAGE.git/info/lfs/objects/batch
    PUT POST  /storage/KIND/NAME/OID[/verify]         a content, its check
    GET       /api/KINDs/NAME/xet-write-token/REV     of a Xet storage that is not here

A REV is a branch, a tag, `refs/pr/N` or the id of a commit. Files are served without Xet headers,
so every client downloads them over plain HTTP. Errors have the Hub's codes:
RepoNotFound (401, with a token 404), RevisionNotFound, EntryNotFound. Any other
request is answered 404 without a code and stored in `HubServer.unknown`, and the fixture fails the
test."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.hub.contents import Store
from tests.hub.history import Folder, Repository
from tests.hub.messages import CUTS, UNKNOWN_TOKEN, Answer, Call, Failure, HubError, Request, Token
from tests.hub.routes import find_route
from tests.making.serving import KeptConnection, QuietServer


class HubServer(QuietServer):
    """The server with its repositories, by kind and name, its tokens and the requests so far.

    `received` has the paths (of small files) and the SHA-256 (of large files) of the received
    contents.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), HubHandler)
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.tokens: dict[str, Token] = {}
        self.requests: list[Request] = []
        self.unknown: list[str] = []
        self.received: list[str] = []
        self.failures: list[Failure] = []
        self.lock = Lock()
        self.folder = TemporaryDirectory(prefix="hub")
        self.store = Store(Path(self.folder.name))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def add(self, kind: str, name: str, folder: Path) -> Folder:
        """Serve a folder, read-only, as the repository `name` of a kind: model, dataset or space.

        A writable repository is created by a client's `create_repo`.
        """
        self.repositories[kind, name] = served = Folder(kind, name, folder)
        return served

    def fail(self, where: str, what: int | str, times: int = 1, wait: int = 0) -> None:
        """Make the next `times` requests with `where` in the path fail, see `Failure`.

        Clients retry after 429, 5xx and closed connections, up to six times, except for a commit
        and the creation of a repository.
        """
        self.failures.append(Failure(where, what, times, wait))

    def uploaded(self) -> list[str]:
        return [*self.received]

    def clear(self) -> None:
        """Forget requests, received contents and failures; repositories and objects stay."""
        self.requests.clear()
        self.received.clear()
        self.failures.clear()

    def asked(self, part: str, method: str = "") -> list[Request]:
        return [r for r in self.requests if part in r.path and r.method.startswith(method)]

    def server_close(self) -> None:
        super().server_close()
        self.folder.cleanup()


class HubHandler(KeptConnection, BaseHTTPRequestHandler):
    """Receive a request, answer it (one at a time), and send the answer."""

    server: HubServer

    def do_GET(self) -> None:
        self.respond()

    def do_HEAD(self) -> None:
        self.respond()

    def do_POST(self) -> None:
        self.respond()

    def do_PUT(self) -> None:
        self.respond()

    def respond(self) -> None:
        """Answer, unless a failure is defined; record the request before sending the answer."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with self.server.lock:
            failure = next((x for x in self.server.failures if x.takes(self.path)), None)
            what = failure.what if failure else ""
            if what == "cut before":
                answer = Answer(status=0)
            else:
                answer = failure.answer() if failure and what != "cut" else self.answer(body)
            record = Request(self.command, self.path, int(answer.status), len(body))
            self.server.requests.append(record)
        self.send(answer, cut=what in CUTS)

    def answer(self, body: bytes) -> Answer:
        """Route by method and path; an unknown route is an error; every error has a code."""
        url = urlsplit(self.path)
        found = find_route(self.command, url.path)
        try:
            if found is None:
                self.server.unknown.append(f"{self.command} {self.path}")
                raise HubError(HTTPStatus.NOT_FOUND, "", f"no such route: {self.path}")
            answer, values = found
            query = dict(parse_qsl(url.query))
            return answer(self.make_call(values, query, body))
        except HubError as error:
            return error.answer()

    def make_call(self, values: Mapping[str, str], query: Mapping[str, str], body: bytes) -> Call:
        """Return the request as the functions of the routes see it; its token must be known."""
        given = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if given and given not in self.server.tokens:
            raise HubError(HTTPStatus.UNAUTHORIZED, "", UNKNOWN_TOKEN)
        token = self.server.tokens.get(given)
        return Call(self.server, self.command, values, query, self.headers, body, token)

    def send(self, answer: Answer, cut: bool) -> None:
        """Send status, headers and body (none after HEAD); a cut closes the connection half-way."""
        self.close_connection = self.close_connection or cut
        if answer.status == 0:
            return
        self.send_response(answer.status)
        for key, value in {**answer.head, "Content-Length": str(len(answer.body))}.items():
            self.send_header(key, value)
        if cut and not answer.body:
            return
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body[: len(answer.body) // 2] if cut else answer.body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Stay silent: the requests are recorded in `HubServer.requests`."""


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
