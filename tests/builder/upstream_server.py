"""A stand-in for the server of upstream archives."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Handler(BaseHTTPRequestHandler):
    """Serves `server.contents`; truncates answers by `server.cuts`, one entry per request."""

    def do_GET(self):
        server = self.server
        server.requests.append(self.path)
        content = server.contents.get(self.path)
        if content is None:
            return self.send_error(404)
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        sent = server.cuts.pop(0) if server.cuts else len(content)
        self.wfile.write(content[:sent])  # fewer bytes than announced: an interrupted connection
        return None

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch, tmp_path):
    """A stand-in for github.com, and an empty cache folder."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.contents, http.requests, http.cuts = {}, [], []
        threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("POLYPROBE_GITHUB", f"http://127.0.0.1:{http.server_port}")
        monkeypatch.delenv("POLYPROBE_CACHE", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        yield http
        http.shutdown()
