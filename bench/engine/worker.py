"""Run one scoring method in its own process; return values and times for rows.

    python -m bench.engine.worker METHOD FAMILY MODEL [--dtype float32] [--threads 2]

Input: a line of JSON ({"prompts": …, "candidates": …}). Output: a line ({"value", "wall", "cpu"}).
The process waits between lines, so only one of many workers computes at a time.
"""

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from . import peers

Method = Callable[[list[str], list[list[str]]], Any]


# {kind: parts of operator names}; the first match counts.
KINDS = {
    "attention": ("scaled_dot_product", "flash_attention"),
    "matrix products": ("mm", "linear", "matmul", "conv1d"),
    "softmax, log-sum-exp": ("softmax", "logsumexp", "exp", "amax", "logaddexp"),
    "copies, gathering, packing": (
        "copy", "index", "gather", "cat", "stack", "select", "slice", "clone", "empty", "fill",
        "zero", "expand", "view", "reshape", "transpose", "permute", "repeat", "as_strided",
        "arange", "contiguous", "detach", "where", "masked", "tensor", "resize", "split",
    ),
}  # fmt: skip
OTHER, OUTSIDE = "other operators", "outside operators"


def load_operators(family: str, model: str, dtype: str) -> Method:
    """Return a function that scores rows with polyprobe and returns seconds by operator.

    `OUTSIDE` is the time outside all operators: tokenization, planning, Python.
    """
    from torch.profiler import ProfilerActivity, profile

    score = load_ours(family, model, dtype)

    def run(prompts: list[str], candidates: list[list[str]]) -> dict[str, float]:
        start = time.perf_counter()
        with profile(activities=[ProfilerActivity.CPU]) as profiler:
            score(prompts, candidates)
            wall = time.perf_counter() - start
        events = profiler.key_averages()
        seconds = {event.key: event.self_cpu_time_total / 1e6 for event in events}
        return seconds | {OUTSIDE: max(0.0, wall - sum(seconds.values()))}

    return run


def group(seconds: dict[str, float]) -> dict[str, float]:
    """Return the share of each kind of operator."""
    total = sum(seconds.values())
    shares = dict.fromkeys((*KINDS, OTHER, OUTSIDE), 0.0)
    for name, value in seconds.items():
        shares[name if name == OUTSIDE else _kind(name)] += value / total
    return shares


def _kind(name: str) -> str:
    return next((kind for kind, parts in KINDS.items() if any(p in name for p in parts)), OTHER)


def show(seconds: dict[str, float], n: int = 15) -> str:
    """Return the n largest operators as lines of text."""
    total = sum(seconds.values())
    largest = sorted(seconds.items(), key=lambda pair: -pair[1])[:n]
    return "\n".join(f"{value / total:7.1%} {value:8.3f} s  {name}" for name, value in largest)


def load_ours(family: str, model: str, dtype: str) -> Method:
    """Return the measured function: `load_scorer(model).score`."""
    return _load_scorer(family, model, dtype).score


def _load_scorer(family: str, model: str, dtype: str, **options: str) -> Any:
    from polyprobe.eval import load_scorer

    scoring = "letters" if family == "letters" else "bmlama"
    return load_scorer(model, device="cpu", dtype=dtype, scoring=scoring, **options)


def load_tokens(family: str, model: str, dtype: str) -> Method:
    """Return the function that counts the tokens that the measured function embeds."""
    scorer = _load_scorer(family, model, dtype)
    sizes: list[int] = []
    # The head calls the model again with its states, so the model's own inputs would count twice.
    embedding = scorer.model.get_input_embeddings()
    embedding.register_forward_pre_hook(lambda part, inputs: sizes.append(inputs[0].numel()))

    def count(prompts: list[str], candidates: list[list[str]]) -> int:
        sizes.clear()
        scorer.score(prompts, candidates)
        return sum(sizes)

    return count


def load_rounded(family: str, model: str, dtype: str) -> Method:
    """Return the same with products in bfloat16 of float32 weights."""
    return _load_scorer(family, model, dtype, product="bfloat16").score


def load_prepare(family: str, model: str, dtype: str) -> Method:
    """Return the function that tokenizes and plans rows, without a call of the model."""
    scorer = _load_scorer(family, model, dtype)
    return lambda prompts, candidates: scorer.prepare(prompts, candidates).plan.n_reads


def load_from(module: str, name: str) -> Callable[[str, str, str], Method]:
    """Return a loader of a module of ours, which is imported when a model is loaded."""
    return lambda *model: getattr(import_module(module, "bench.engine"), name)(*model)


METHODS = {
    "ours": load_ours,
    "rounded": load_rounded,
    "tokens": load_tokens,
    "prepare": load_prepare,
    "reference": load_from(".reference", "load"),
    "smart": load_from(".reference", "load_smart"),
    "peer-quantity": load_from(".reference", "load_peer_quantity"),
    "lm-eval": peers.load_lm_eval,
    "lm-pub-quiz": peers.load_lm_pub_quiz,
    "vLLM": peers.load_vllm,
    "llama.cpp": peers.load_llama,
    "floor": load_from(".floor", "load"),
    "operators": load_operators,
}


def main() -> None:
    """Load the model and answer until the end of the input."""
    parser = argparse.ArgumentParser()
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("family", choices=["causal", "letters", "masked", "seq2seq"])
    parser.add_argument("model")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    answers = _take_stdout()
    import torch

    torch.set_num_threads(asked.threads)
    method = METHODS[asked.method](asked.family, asked.model, asked.dtype)
    for line in sys.stdin:
        print(json.dumps(answer(method, **json.loads(line))), file=answers, flush=True)


def answer(method: Method, prompts: list[str], candidates: list[list[str]]) -> dict[str, Any]:
    """Return the method's value for the rows, with wall-clock and processor seconds."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    value = method(prompts, candidates)
    return {
        "value": value,
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
    }


def _take_stdout() -> Any:
    """Return the pipe to the driver; redirect output of libraries to the log."""
    pipe = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return pipe


if __name__ == "__main__":
    main()
