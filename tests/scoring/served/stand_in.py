"""A server of geolm in three dialects and as a chat, which lies if it is asked to."""

import json
import math
import socket
import threading
import time
import zlib
from collections import Counter
from contextlib import contextmanager
from copy import deepcopy
from functools import lru_cache
from http.server import BaseHTTPRequestHandler
from importlib.resources import files

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.making.serving import KeptConnection, QuietServer
from tests.making.waiting import PATIENCE

GEOLM = str(files("polyprobe.scoring.embedded") / "geolm")
DIALECTS = ("vllm", "llama.cpp", "completions")
# Nats, of a server that computes in float32 in batches, and of two that compute in few bits.
NOISE = {"noise": 1e-5, "coarse": 0.005, "rough": 0.03, "wild": 1.0}
CUT = 64  # tokens that a server keeps which cuts prompts
# What OpenAI says where it refuses, by the parameter that it refuses
WORDS = {
    "max_tokens": "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead.",
    "temperature": "Unsupported value: 'temperature' does not support 0 with this model.",
    "logprobs": "You are not allowed to request logprobs from this model",
}
NO_COMPLETIONS = "This is a chat model and not supported in the v1/completions endpoint."


@lru_cache(1)
def load():
    return AutoModelForCausalLM.from_pretrained(GEOLM, dtype=torch.float32).eval()


@lru_cache(2)
def with_letters(strength=6.0):
    """Return geolm with a liking for the letters A to J, which it does not have itself."""
    model = deepcopy(load())
    ids = [own[-1] for own in tokenizer()([f"Answer: {x}" for x in "ABCDEFGHIJ"])["input_ids"]]
    liking = torch.zeros(model.config.vocab_size)
    liking[ids] = strength
    model.lm_head.register_forward_hook(lambda module, inputs, output: output + liking)
    return model


def sure():
    """Return a model whose 20 most probable tokens hold all letters."""
    return with_letters(14.0)


@lru_cache(1)
def tokenizer():
    return AutoTokenizer.from_pretrained(GEOLM)


class StandIn(QuietServer):
    """Answers as a dialect does, from the model's own forward, one prompt at a time.

    `lies` may hold: no echo, bos, hidden bos, tokenizer, truncated, hidden cut, nan, swapped,
    crossed (only between requests at the same time), top, other model, other scale; noise,
    coarse and rough are not lies. Of a chat also: those of `WORDS`, base 2, deaf, thinks, five,
    silent (no log-probabilities), silent rows, no usage, no list, locked.
    """

    allow_reuse_address = True

    def __init__(self, dialect="vllm", lies=(), port=0, model=None):
        super().__init__(("127.0.0.1", port), Handler)
        self.dialect, self.lies, self.model = dialect, {*lies}, model or load()
        self.posts, self.prompts, self.tokens = 0, 0, 0
        self.lock, self.last, self.known = threading.Lock(), None, {}
        self.queries = set()  # of the addresses of requests
        self.flying, self.lengths, self.draws = [], set(), Counter()
        self.shown = 20  # of the most probable tokens, at most
        self.killed_at = None  # number of POST requests after which the server dies
        self.died = threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    @torch.inference_mode()
    def rows(self, ids):
        """Return log P(next token | ids[:k + 1]) for each k, [n, V]."""
        ids = list(ids)
        if "bos" in self.lies and ids[:1] != [0]:
            ids = [0, *ids]
        if "hidden bos" in self.lies and ids[:1] != [0]:
            _, rows = self.rows([0, *ids])
            return ids, rows[1:]
        if "tokenizer" in self.lies:
            ids = [(token + 7) % 4000 for token in ids]
        if "truncated" in self.lies:
            ids = ids[-CUT:]
        with self.lock:
            key = (id(self.model), *ids)
            if key not in self.known:
                found = self.model(torch.tensor([ids])).logits[0].float().log_softmax(1)
                self.known[key] = found
            rows = self.known[key]
        if "hidden cut" in self.lies and len(ids) > CUT:
            rows = rows.clone()
            for k in range(len(ids) - 4, len(ids)):
                cut = self.model(torch.tensor([ids[k + 1 - CUT : k + 1]])).logits[0, -1]
                rows[k] = cut.float().log_softmax(0)
        for name, size in NOISE.items():
            if name in self.lies:
                rows = (rows + size * self.draw_noise(ids, rows.shape)).log_softmax(1)
        if "other scale" in self.lies:
            rows = rows - 50
        if "nan" in self.lies:
            rows = rows * float("nan")
        return ids, rows

    def draw_noise(self, ids, shape):
        """Return other numbers each time, the same ones whatever the order of threads is."""
        with self.lock:
            self.draws[*ids] += 1
            seed = zlib.crc32(repr((ids, self.draws[*ids])).encode())
        return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


class Handler(KeptConnection, BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def parse_request(self):
        good = super().parse_request()
        if good:
            self.path, _, query = self.path.partition("?")
            self.server.queries.add(query)
        return good

    def send(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        server = self.server
        owners = {"vllm": "vllm", "llama.cpp": "llamacpp"}
        owner = owners.get(server.dialect, "somebody")
        about = {"id": "geolm", "object": "model", "owned_by": owner, "max_model_len": 512}
        if server.dialect == "llama.cpp":
            about["meta"] = {"n_vocab": server.model.config.vocab_size, "n_params": 1}
        answers = {"/v1/models": {"object": "list", "data": [about]}}
        if server.dialect == "vllm":
            answers["/version"] = {"version": "0.32.0"}
        if server.dialect == "llama.cpp":
            settings = {"default_generation_settings": {"n_ctx": 512}, "total_slots": 4}
            answers["/props"] = {**settings, "build_info": "b1", "model_ftype": "F32"}
        if "locked" in server.lies and server.dialect == "chat":
            self.refuse_key()
        elif "no list" in server.lies and self.path == "/v1/models":
            # as `transformers serve` without the Hub
            self.send("Internal Server Error", 500)
        elif self.path in answers:
            self.send(answers[self.path])
        else:
            self.send({"error": "not found"}, 404)

    def do_POST(self):
        server = self.server
        with server.lock:
            server.posts += 1
            if server.killed_at is not None and server.posts > server.killed_at:
                server.died.set()
        if server.died.is_set():
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/tokenize":
            text = body.get("prompt", body.get("content"))
            self.send({"tokens": self.encode(text)})
        elif self.path == "/completion" and server.dialect == "llama.cpp":
            self.send(self.complete_llama(body))
        elif "locked" in server.lies:
            self.refuse_key()
        elif server.dialect == "chat":
            self.chat(body)
        elif self.path == "/v1/completions" and server.dialect != "llama.cpp":
            prompts = body["prompt"]
            whole = prompts and isinstance(prompts[0], list | str)
            prompts = prompts if whole and not isinstance(prompts, str) else [prompts]
            choices = [self.complete(p, body) for p in prompts]
            if "swapped" in server.lies:
                choices.reverse()
            for index, choice in enumerate(choices):
                choice["index"] = index
            name = "another" if "other model" in server.lies else "geolm"
            self.send({"object": "text_completion", "model": name, "choices": choices})
        else:
            self.send({"error": "not found"}, 404)

    def encode(self, text):
        ids = tokenizer()(text, add_special_tokens=False)["input_ids"]
        return [token + 1 for token in ids] if "tokenizer" in self.server.lies else ids

    def complete(self, prompt, body):
        server = self.server
        text = isinstance(prompt, str)
        ids, rows = server.rows([0, *self.encode(prompt)] if text else prompt)
        server.prompts += 1
        server.lengths.add(len(ids))
        server.tokens += len(ids)
        own = [None, *(rows[k, token].item() for k, token in enumerate(ids[1:]))]
        best = rows[-1].argmax().item()
        choice = {"text": "", "finish_reason": "length", "prompt_token_ids": None}
        named = body.get("logprob_token_ids") if server.dialect == "vllm" else None
        shown = [best, *rows[-1].topk(5).indices.tolist()] if "top" in server.lies else None
        shown = shown or [best, *(named or [])]
        tops = {f"token_id:{token}": rows[-1, token].item() for token in shown}
        echo = body.get("echo") and "no echo" not in server.lies
        values, every = [rows[-1, best].item()], [tops]
        if not body.get("return_tokens_as_token_ids"):
            n = min(body.get("logprobs") or 1, server.shown)
            every = [self.name_best(row, n) for row in (rows if echo else rows[-1:])]
        if echo:
            values, every = [*own, *values], [None, *every]
            for value, token, tops in zip(own[1:], ids[1:], every[1:], strict=False):
                tops[tokenizer().decode([token])] = value
        if body.get("logprobs") is not None:
            choice["logprobs"] = {"token_logprobs": values, "top_logprobs": every}
        if server.dialect == "vllm":
            choice["prompt_token_ids"] = ids
            asked = body.get("prompt_logprobs") is not None and "no echo" not in server.lies
            entries = [None]
            for token, row in zip(ids[1:], rows, strict=False):
                shown = [token, *row.topk(body.get("prompt_logprobs") or 0).indices.tolist()]
                entries.append({str(x): {"logprob": row[x].item()} for x in shown})
            choice["prompt_logprobs"] = entries if asked else None
        return choice

    def name_best(self, row, n):
        best = row.topk(n).indices.tolist()
        return {tokenizer().decode([token]): row[token].item() for token in best}

    def refuse_key(self):
        said = f"Incorrect API key provided: {self.headers['Authorization']}"
        self.send({"error": {"message": said}}, 401)

    def chat(self, body):
        lies = self.server.lies
        refused = [WORDS[name] for name in WORDS if name in lies and name in body]
        if "five" in lies and body.get("top_logprobs", 0) > 5:
            refused = ["Invalid value for 'top_logprobs': must be at most 5."]
        if self.path != "/v1/chat/completions" or body["model"] == "nope":
            said = NO_COMPLETIONS if "chat" not in self.path else "The model `nope` does not exist."
            self.send({"error": {"message": said, "type": "invalid_request_error"}}, 404)
        elif refused:
            self.send({"error": {"message": refused[0]}}, 400)
        else:
            self.send(self.answer_chat(body))

    def answer_chat(self, body):
        server, lies = self.server, self.server.lies
        turns = "".join(f"{turn['role']}: {turn['content']}\n" for turn in body["messages"])
        ids, rows = server.rows([0, *self.encode("deaf" if "deaf" in lies else f"{turns}Answer:")])
        server.prompts += 1
        server.tokens += len(ids)
        row = rows[-1] / math.log(2) if "base 2" in lies else rows[-1]
        values, best = row.topk(min(body.get("top_logprobs", 1), server.shown))
        texts = [tokenizer().decode([token]) for token in best.tolist()]
        pairs = [*zip(texts, values.tolist(), strict=True)]
        if "thinks" in lies:
            pairs = [("<think>", -1e-4), *((text, value - 12) for text, value in pairs)]
        tops = [{"token": text, "logprob": value} for text, value in pairs]
        choice = {"index": 0, "message": {"role": "assistant", "content": tops[0]["token"]}}
        silent = "silent" in lies or ("silent rows" in lies and "Country" in turns)
        if not silent and body.get("logprobs"):
            choice["logprobs"] = {"content": [{**tops[0], "top_logprobs": [tops[0], *tops]}]}
        usage = {"prompt_tokens": len(ids), "completion_tokens": 1}
        name = f"geolm-{server.posts}" if "other model" in lies else "geolm-2026-11-27"
        answer = {"object": "chat.completion", "model": name, "choices": [choice]}
        return answer if "no usage" in lies else {**answer, "usage": usage}

    def complete_llama(self, body):
        server = self.server
        prompt = body["prompt"]
        server.prompts += 1
        server.lengths.add(len(prompt))
        server.tokens += len(prompt)
        if "swapped" in server.lies:
            with server.lock:
                prompt, server.last = server.last or prompt, prompt
        if "crossed" in server.lies:
            server.flying.append(prompt)
            time.sleep(0.02)
            others = [one for one in server.flying if one is not prompt]
            own, prompt = prompt, others[0] if others else prompt
            server.flying.remove(own)
        ids, rows = server.rows(prompt)
        [[forced, _]] = body["logit_bias"]
        row = rows[-1]
        if "top" in server.lies:
            forced = row.argmax().item()
        n = min(body["n_probs"], 5 if "top" in server.lies else row.numel())
        best = row.topk(n).indices if "nan" not in server.lies else torch.tensor([forced])
        pairs = zip(best.tolist(), row[best].tolist(), strict=True)
        tops = [{"id": token, "logprob": value} for token, value in pairs]
        step = {"id": forced, "logprob": row[forced].item(), "top_logprobs": tops}
        whole = "�" not in tokenizer().decode([forced])
        return {
            "completion_probabilities": [step] if whole else None,
            "tokens_evaluated": len(body["prompt"] if "crossed" in server.lies else ids),
            "truncated": False,
        }


def serving(dialect="vllm", lies=(), port=0, model=None):
    return running(StandIn(dialect, lies, port, model))


@contextmanager
def running(server):
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.died.set()
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def dying(every, times, model_after=None, wait=0.05):
    """Yield the address of a server that dies after each `every` requests and is started again.

    After `times` deaths it lives on; `times=None`: the first death is the last. `model_after` is
    the model of the servers behind the first one.
    """
    over, state = threading.Event(), {"deaths": 0}

    def live(server):
        while not over.is_set() and not server.died.wait(0.02):
            pass

    def run():
        port, model = 0, None
        while not over.is_set():
            with serving(port=port, model=model) as server:
                port, model = server.server_port, model_after
                if times is None or state["deaths"] < times:
                    server.killed_at = every
                state["url"] = server.url
                ready.set()
                live(server)
                state["deaths"] += server.died.is_set()
            if times is None:
                return
            over.wait(wait)

    ready = threading.Event()
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(PATIENCE)
    try:
        yield state
    finally:
        over.set()
        thread.join()
