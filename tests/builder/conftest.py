import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from polyprobe.builder.sources.bmlama import files as bmlama_files
from polyprobe.tests.builder.tiny import TINY, TINY_BLOCKS, describe, pack


@pytest.fixture
def tiny(monkeypatch, tmp_path) -> Path:
    """A mirror folder with a BMLAMA of three rows, which stands for the real one."""
    contents = {
        f"1_easyrun/BMLAMA{config}/{language}.tsv": text.encode()
        for config in bmlama_files.PUBLISHED
        for language, text in TINY.items()
    }
    repository = describe(contents)
    monkeypatch.setattr(bmlama_files, "REPOSITORY", repository)
    monkeypatch.setattr(bmlama_files, "BLOCKS", TINY_BLOCKS)
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    pack(mirror, repository, contents)
    return mirror


class RangeHandler(BaseHTTPRequestHandler):
    """Serves `server.contents`; cuts answers short as `server.cuts` says, one entry a request."""

    def do_GET(self):
        server = self.server
        wanted = self.headers.get("Range")
        server.requests.append((self.path, wanted))
        content = server.contents.get(self.path)
        if content is None:
            return self.send_error(404)
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and server.ranges else 0
        if start and start >= len(content):
            return self.send_error(416)
        rest = content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        sent = server.cuts.pop(0) if server.cuts else len(rest)
        self.wfile.write(rest[:sent])  # fewer bytes than were announced: a cut connection
        return None

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch, tmp_path):
    """A stand-in for raw.githubusercontent.com, with an empty cache folder beside it."""
    with ThreadingHTTPServer(("127.0.0.1", 0), RangeHandler) as http:
        http.contents, http.requests, http.cuts, http.ranges = {}, [], [], True
        threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("POLYPROBE_GITHUB_RAW", f"http://127.0.0.1:{http.server_port}")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        yield http
        http.shutdown()
