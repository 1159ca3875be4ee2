"""A stand-in for the Hugging Face Hub on 127.0.0.1, reading only.

It speaks what huggingface_hub 2.4, datasets 5.2, transformers 5.23 and evaluate 0.4.6 ask for:

    GET       /api/KINDs/NAME[/revision/REV]          info; KIND is model, dataset or space
    GET       /api/KINDs/NAME/tree/REV[/PATH]         ?recursive=…&expand=…
    POST      /api/KINDs/NAME/paths-info/REV          form or JSON: paths, expand
    GET       /api/KINDs/NAME/refs
    HEAD GET  [/datasets|/spaces]/NAME/resolve/REV/PATH   ETag, X-Repo-Commit, ranges

Files are announced without Xet headers, so that every client downloads them over plain HTTP.
Errors carry the Hub's codes: RepoNotFound (401, with a token 404), RevisionNotFound,
EntryNotFound. What a client asks beside this is answered 404 without a code, and kept in
`HubServer.unknown`, by which the fixture fails the test.
"""

import json
import re
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple, NoReturn
from urllib.parse import parse_qs, unquote, urlsplit

from .repository import Blob, Repository

NAME = r"(?P<name>[^/]+(?:/(?!(?:revision|tree|paths-info|refs|resolve)(?:/|$))[^/]+)?)"
API = re.compile(rf"/api/(?P<kind>model|dataset|space)s/{NAME}(?:/(?P<what>[^/]+)(?P<rest>/.*)?)?$")
RESOLVE = re.compile(rf"/(?:(?P<kind>dataset|space)s/)?{NAME}/resolve/(?P<rev>[^/]+)/(?P<path>.+)$")


class Request(NamedTuple):
    """One request as it came in: the method, the path with its query, the status of the answer."""

    method: str
    path: str
    status: int


class HubError(Exception):
    """An answer that is not 200: status, the Hub's error code, its message."""


class HubServer(ThreadingHTTPServer):
    """The server with its repositories, by kind and name, and the requests so far."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), HubHandler)
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.requests: list[Request] = []
        self.unknown: list[str] = []

    @property
    def url(self) -> str:
        """Return the endpoint for `HF_ENDPOINT`."""
        return f"http://127.0.0.1:{self.server_port}"

    def add(self, kind: str, name: str, folder: Path) -> Repository:
        """Serve a folder as the repository `name` of a kind: model, dataset or space."""
        if kind not in {"model", "dataset", "space"}:
            raise ValueError(f"unknown kind {kind!r}; choose from: model, dataset, space")
        self.repositories[kind, name] = Repository(kind, name, folder)
        return self.repositories[kind, name]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Let clients go as they like: only what is not a broken connection is worth a line."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def asked(self, part: str, method: str = "") -> list[Request]:
        """Return the requests whose path contains `part`, of one method if it is given."""
        return [r for r in self.requests if part in r.path and r.method.startswith(method)]


class HubHandler(BaseHTTPRequestHandler):
    """Answers one request: finds the repository, the revision, the file."""

    protocol_version = "HTTP/1.1"
    server: HubServer

    def do_GET(self) -> None:
        self.answer()

    def do_HEAD(self) -> None:
        self.answer()

    def do_POST(self) -> None:
        self.answer()

    def answer(self) -> None:
        """Route by path; an unknown route is an error, and each error has its code."""
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        try:
            if route := API.match(url.path):
                self.answer_api(**route.groupdict(), query=parse_qs(url.query))
            elif route := RESOLVE.match(url.path):
                self.answer_file(**route.groupdict())
            else:
                self.raise_no_route()
        except HubError as error:
            self.send_problem(*error.args)

    def answer_api(
        self, kind: str, name: str, what: str | None, rest: str | None, query: dict[str, list[str]]
    ) -> None:
        """Answer a question about a repository with JSON."""
        repository = self.find(kind, name)
        revision, _, path = (rest or "/main").lstrip("/").partition("/")
        self.check_revision(repository, unquote(revision))
        if what == "tree":
            self.send_json(self.list_tree(repository, unquote(path), query))
        elif what == "paths-info":
            form = self.read_form()
            self.send_json(repository.paths_info(form["paths"], is_true(form.get("expand"))))
        elif what == "refs":
            self.send_json(repository.refs())
        elif what in (None, "revision"):
            self.send_json(repository.info())
        else:
            self.raise_no_route()

    def list_tree(self, repository: Repository, path: str, query: dict[str, list[str]]) -> list:
        """Return a folder's entries; a folder that is not there is an error."""
        recursive, expand = (is_true(query.get(key)) for key in ("recursive", "expand"))
        entries = repository.tree(path, recursive, expand)
        if path and not entries:
            self.raise_no_entry(path, repository)
        return entries

    def answer_file(self, kind: str | None, name: str, rev: str, path: str) -> None:
        """Send a file, or what of it the Range header asks for."""
        repository = self.find(kind or "model", name)
        self.check_revision(repository, unquote(rev))
        blob = repository.blobs().get(unquote(path))
        if blob is None:
            self.raise_no_entry(unquote(path), repository)
        self.send_file(blob, repository.commit())

    def find(self, kind: str, name: str) -> Repository:
        """Return the repository; the Hub hides whether one is missing or private behind a 401."""
        repository = self.server.repositories.get((kind, name))
        if repository is None and self.headers.get("Authorization"):
            raise HubError(HTTPStatus.NOT_FOUND, "RepoNotFound", "Repository not found")
        if repository is None:
            message = "Invalid username or password."
            raise HubError(HTTPStatus.UNAUTHORIZED, "RepoNotFound", message)
        return repository

    def check_revision(self, repository: Repository, revision: str) -> None:
        """Refuse a revision that the repository does not have."""
        if not repository.has_revision(revision):
            message = f"Invalid rev id: {revision}"
            raise HubError(HTTPStatus.NOT_FOUND, "RevisionNotFound", message)

    def raise_no_route(self) -> NoReturn:
        """Refuse what this stand-in does not speak, and remember it: a test should fail by it."""
        self.server.unknown.append(f"{self.command} {self.path}")
        raise HubError(HTTPStatus.NOT_FOUND, "", f"no such route: {self.path}")

    def raise_no_entry(self, path: str, repository: Repository) -> NoReturn:
        """Refuse a path; the commit goes along, with it clients remember that it is not there."""
        message = f"{path} does not exist on main"
        raise HubError(HTTPStatus.NOT_FOUND, "EntryNotFound", message, repository.commit())

    def read_form(self) -> dict[str, list[str]]:
        """Return the body's fields, sent as JSON or as a form."""
        if self.headers.get_content_type() == "application/json":
            return json.loads(self.body)
        return parse_qs(self.body.decode())

    def send_json(self, answer: Any) -> None:
        """Send a JSON answer."""
        self.send_bytes(200, json.dumps(answer).encode(), {"Content-Type": "application/json"})

    def send_problem(self, status: int, code: str, message: str, commit: str = "") -> None:
        """Send an error as the Hub does, code and message in the header and the body."""
        head = {"X-Error-Code": code, "X-Error-Message": message, "X-Repo-Commit": commit}
        body = json.dumps({"error": message}).encode()
        head = {key: value for key, value in head.items() if value}
        self.send_bytes(status, body, head | {"Content-Type": "application/json"})

    def send_file(self, blob: Blob, commit: str) -> None:
        """Send the file's content, whole or in part, under its ETag."""
        head = {
            "ETag": f'"{blob.etag}"',
            "X-Repo-Commit": commit,
            "Accept-Ranges": "bytes",
            "Content-Type": "application/octet-stream",
        }
        content, status = blob.file.read_bytes(), 200
        wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or "")
        if wanted:
            start, stop = span(wanted[1], wanted[2], blob.size)
            if start >= stop:
                raise HubError(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, "", f"{wanted[0]}")
            head["Content-Range"] = f"bytes {start}-{stop - 1}/{blob.size}"
            content, status = content[start:stop], 206
        self.send_bytes(status, content, head)

    def send_bytes(self, status: int, body: bytes, head: dict[str, str]) -> None:
        """Send status, headers and body (no body after HEAD), and record the request first."""
        self.server.requests.append(Request(self.command, self.path, int(status)))
        self.send_response(status)
        for key, value in (head | {"Content-Length": str(len(body))}).items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Stay silent: the requests are recorded in `HubServer.requests`."""


def is_true(values: Any) -> bool:
    """Tell whether a query's or form's field says true, in any client's spelling."""
    return str(values[0] if isinstance(values, list) else values).lower() in {"true", "1"}


def span(first: str, last: str, size: int) -> tuple[int, int]:
    """Return a byte range as start and stop; without a first byte it is the last ones.

    >>> span("2", "4", 10), span("2", "", 10), span("", "3", 10)
    ((2, 5), (2, 10), (7, 10))
    """
    if not first:
        return max(size - int(last), 0), size
    return int(first), min(int(last) + 1, size) if last else size
