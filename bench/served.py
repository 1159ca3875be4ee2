"""Count the requests and prompt tokens of a served model, beside lm-eval's local-completions.

Run `python -m bench served` with `make servers` and `make harness`. vLLM serves geolm in float32;
polyprobe and lm-eval 0.4.13 score the same rows of geofacts, each through a proxy that counts what
is sent. It prints the page and writes it to bench/served.md.
"""

import json
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from polyprobe.eval import evaluate_model
from polyprobe.publish.harness import export_dataset

from .harness_peers import ROOT, call
from .servers import serve_vllm

LANGUAGES = ["en", "ru", "ja"]
ROWS = 60
HEAD = """\
# Requests to a served model

Written by `python -m bench served`. vLLM 0.32.0 for CPUs serves geolm in float32. The first {rows}
rows in each of {languages} of geofacts are scored, without second questions. A proxy between client
and server counts HTTP requests, prompts and prompt tokens; seconds include the client. lm-eval
0.4.13 has `num_concurrent=4`, as polyprobe, and by default sends one prompt in a request.

| scoring | client | requests | prompts | tokens | seconds |
| --- | --- | --- | --- | --- | --- |
"""


class Count(NamedTuple):
    """What a client sent."""

    requests: int
    prompts: int
    tokens: int
    seconds: float


class Proxy(ThreadingHTTPServer):
    """Passes requests on and counts them."""

    daemon_threads = True

    def __init__(self, server: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.server, self.lock = httpx.Client(base_url=server, timeout=600), threading.Lock()
        self.requests = self.prompts = self.tokens = 0

    @property
    def url(self) -> str:
        """Return the address."""
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """See `Proxy`."""

    server: Any
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        """Pass a request on."""
        self._answer(self.server.server.get(self.path))

    def do_POST(self) -> None:
        """Count and pass a request on."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        prompts = json.loads(body).get("prompt", [])
        if self.path == "/v1/completions":
            prompts = prompts if prompts and isinstance(prompts[0], list) else [prompts]
            with self.server.lock:
                self.server.requests += 1
                self.server.prompts += len(prompts)
                self.server.tokens += sum(map(len, prompts))
        headers = {"Content-Type": "application/json"}
        self._answer(self.server.server.post(self.path, content=body, headers=headers))

    def _answer(self, response: httpx.Response) -> None:
        self.send_response(response.status_code)
        self.send_header("Content-Type", response.headers.get("content-type", "text/plain"))
        self.send_header("Content-Length", str(len(response.content)))
        self.end_headers()
        self.wfile.write(response.content)


@contextmanager
def counting(server: str) -> Iterator[Proxy]:
    """Yield a proxy of a server."""
    proxy = Proxy(server)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    yield proxy
    proxy.shutdown()


def main(argv: Sequence[str] = ()) -> None:
    """Measure and write the page."""
    text = HEAD.format(rows=ROWS, languages=", ".join(LANGUAGES))
    with tempfile.TemporaryDirectory() as name:
        geolm = Path(shutil.copytree(ROOT / "scoring/embedded/geolm", Path(name) / "geolm"))
        with serve_vllm(geolm, "geolm") as server:
            for scoring in ("bmlama", "object"):
                ours = ask_polyprobe(server, scoring)
                theirs = ask_lm_eval(server, scoring, geolm, Path(name) / scoring)
                text += "".join(
                    f"| {scoring} | {client} | {c.requests:,} | {c.prompts:,} | {c.tokens:,} "
                    f"| {c.seconds:.1f} |\n"
                    for client, c in (("polyprobe", ours), ("lm-eval", theirs))
                )
                ratios = [f"{a / b:.2f}" for a, b in zip(ours, theirs, strict=True)]
                text += f"| {scoring} | ratio | {' | '.join(ratios)} |\n"
    print(text)
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


def ask_polyprobe(server: str, scoring: str) -> Count:
    """Return the count of an evaluation, its checks of the server included."""
    with counting(server) as proxy:
        start = time.monotonic()
        asked: Any = {"languages": LANGUAGES, "limit": ROWS, "donor": False, "cache": False}
        evaluate_model("geolm", "geofacts", server=proxy.url, scoring=scoring, **asked)
        seconds = time.monotonic() - start
        return Count(proxy.requests, proxy.prompts, proxy.tokens, seconds)


def ask_lm_eval(server: str, scoring: str, model: Path, folder: Path) -> Count:
    """Return the count of the same rows as exported tasks."""
    files = export_dataset(
        ROOT / "datasets/geofacts", "lm-eval", folder, languages=LANGUAGES, scoring=scoring
    )
    with counting(server) as proxy:
        about = f"model=geolm,tokenizer={model},base_url={proxy.url}/v1/completions"
        about += ",tokenizer_backend=huggingface,num_concurrent=4"
        command = ["-m", "lm_eval", "run", "--model", "local-completions", "--model_args", about]
        command += ["--include_path", str(folder), "--tasks", files[0].stem, "--limit", str(ROWS)]
        start = time.monotonic()
        call("lm-eval", command, folder)
        seconds = time.monotonic() - start
        return Count(proxy.requests, proxy.prompts, proxy.tokens, seconds)
