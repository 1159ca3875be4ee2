"""A stand-in for Google's and OpenAI's services on 127.0.0.1, with answers chosen by the test."""

import json
import threading
from collections import deque
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from tests.making.waiting import PATIENCE


class Server(ThreadingHTTPServer):
    """Answers each request with the next kind of `plan`, then with `always`.

    Kinds: fine (the sentence in capitals), empty, unchanged, broken (cut JSON), page (HTML with
    200), error (a JSON object with 200), cut (connection closed during the answer), slow (an answer
    when the server closes), drip (endless spaces), a status such as `429`, or
    `429 7` with its Retry-After.
    """

    daemon_threads = True

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.plan, self.always = deque(), "fine"
        self.sentences, self.bodies, self.pairs, self.paths = [], [], [], []
        self.seen, self.closing = threading.Condition(), threading.Event()
        self.code = "no"  # of errors, in OpenAI's way
        self.texts = {}  # {sentence: answer of the kind fine}; of others their capitals
        self.chat = None  # answer of a language model, if it is not one of the kinds

    @property
    def port(self):
        return self.server_address[1]

    @property
    def google(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def openai(self):
        return f"{self.google}/v1"

    def wait_for(self, number):
        """Block until this many requests have arrived."""
        with self.seen:
            assert self.seen.wait_for(lambda: len(self.sentences) >= number, timeout=PATIENCE)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        query = parse_qs(urlsplit(self.path).query)
        self.server.pairs.append((query["sl"][-1], query["tl"][-1]))
        self.reply(query["q"][0], lambda text: [[[text, query["q"][0], None]], None, "en"])

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.paths.append(self.path)
        body["authorization"] = self.headers["authorization"]
        self.server.bodies.append(body)
        last = body["messages"][-1]["content"].rpartition("Sentence: ")[2]
        self.reply(last.partition("\n")[0], self.wrap)

    def wrap(self, text):
        chat = self.server.chat
        message = {"role": "assistant", "content": text}
        choice = chat if isinstance(chat, dict) else {"message": message, "finish_reason": "stop"}
        if isinstance(chat, str):
            message["content"] = chat
        return {"id": "1", "object": "chat.completion", "choices": [choice]}

    def reply(self, sentence, wrap):
        server = self.server
        with server.seen:
            server.sentences.append(sentence)
            kind = server.plan.popleft() if server.plan else server.always
            server.seen.notify_all()
        if kind == "slow":
            server.closing.wait(PATIENCE)
        status, _, later = kind.partition(" ") if kind[0].isdecimal() else ("200", "", "")
        text = {"empty": "", "unchanged": sentence}.get(
            kind, server.texts.get(sentence, sentence.upper())
        )
        body = json.dumps(wrap(text) if status == "200" else self.explain()).encode()
        if kind == "error":
            body = json.dumps({"error": "quota"}).encode()
        kept = {"broken": body[:-5], "page": b"<html>Are you human?</html>"}.get(kind, body)
        self.send_response(int(status))
        if later:
            self.send_header("Retry-After", later)
        self.send_header("Content-Type", "text/html" if kind == "page" else "application/json")
        self.send_header("Content-Length", str(len(kept) + 10**6 * (kind == "drip")))
        self.end_headers()
        if kind == "drip":
            self.drip()
        self.wfile.write(kept[:10] if kind == "cut" else kept)
        self.close_connection = True

    def drip(self):
        with suppress(OSError):  # until the client disconnects
            while not self.server.closing.wait(0.05):
                self.wfile.write(b" ")

    def explain(self):
        """Return an error message that contains the key, as some servers do."""
        return {
            "error": {
                "message": f"refused: {self.headers['authorization']}",
                "code": self.server.code,
            }
        }

    def log_message(self, *_):
        """Stay quiet."""


@contextmanager
def serving(port=0):
    server = Server(port)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
