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
from typing import Any

from .reference import SENTINEL, SLOT, fill_seq2seq

BATCH = 32

Score = Callable[[list[str], list[list[str]]], list[list[float]]]
Method = Callable[[list[str], list[list[str]]], Any]


def load_lm_eval(family: str, model: str, dtype: str) -> Score:
    """Return the scoring function of equation 9 or 10 with the harness's HFLM, batch size 32.

    All requests are passed at once, so that HFLM can sort them by length and merge equal ones.
    Equation 10 without a BOS needs its token interface: the first token is the context, the rest of
    the sentence the continuation. Equation 9 is the log-probability of `<extra_id_0> c` minus that
    of `<extra_id_0>`.
    """
    from lm_eval.models.huggingface import HFLM

    backend = {"causal": "causal", "seq2seq": "seq2seq"}[family]
    lm = HFLM(pretrained=model, backend=backend, device="cpu", dtype=dtype, batch_size=BATCH)
    ask = {"causal": ask_sentences, "seq2seq": ask_fillings}[family]
    return lambda prompts, candidates: ask(lm, prompts, candidates)


def ask_sentences(lm: Any, prompts: list[str], candidates: list[list[str]]) -> list[list[float]]:
    """Return the mean log-probability of each sentence without its first token."""
    requests = []
    for prompt, row in zip(prompts, candidates, strict=True):
        for sentence in (prompt.replace(SLOT, candidate) for candidate in row):
            ids = lm.tok_encode(sentence)
            requests.append((("", sentence), ids[:1], ids[1:]))
    found = lm._loglikelihood_tokens(requests, disable_tqdm=True)
    means = (total / len(ids) for (total, _), (_, _, ids) in zip(found, requests, strict=True))
    return [[next(means) for _ in row] for row in candidates]


def ask_fillings(lm: Any, prompts: list[str], candidates: list[list[str]]) -> list[list[float]]:
    """Return the mean log-probability of each candidate after the sentinel."""
    sentinel = lm.tokenizer.convert_tokens_to_ids(SENTINEL)
    requests, sizes = [], []
    for prompt, row in zip(prompts, candidates, strict=True):
        fillings = fill_seq2seq(lm.tokenizer, prompt, row)
        source = list(fillings[0].before)
        for pieces in ((), *(filling.pieces for filling in fillings)):
            requests.append(((prompt, ""), source, [sentinel, *pieces]))
            sizes.append(len(pieces))
    totals = iter([total for total, _ in lm._loglikelihood_tokens(requests, disable_tqdm=True)])
    counts = iter(sizes)
    found = []
    for row in candidates:
        alone, _ = next(totals), next(counts)
        found.append([(next(totals) - alone) / next(counts) for _ in row])
    return found


def load_lm_pub_quiz(family: str, model: str, dtype: str) -> Score:
    """Return lm-pub-quiz's mean over the answer (encoder-only) or the sentence, batch size 32.

    `answer_l2r+word_l2r` with conditional scores is equation 8 on the candidate's sub-words inside
    its sentence. For decoder-only models lm-pub-quiz scores the sentence after a BOS.
    """
    from lm_pub_quiz import Evaluator

    kinds: dict[str, dict[str, Any]] = {
        "masked": {
            "model_type": "MLM",
            "pll_metric": "answer_l2r+word_l2r",
            "conditional_score": True,
        },
        "causal": {"model_type": "CLM"},
    }
    evaluator = Evaluator.from_model(
        model, model_kw={"dtype": dtype}, capitalize=False, **kinds[family]
    )

    def score(prompts: list[str], candidates: list[list[str]]) -> list[list[float]]:
        return [
            evaluator.evaluate_instance(
                template=prompt, answers=row, reduction="mean", batch_size=BATCH
            )
            for prompt, row in zip(prompts, candidates, strict=True)
        ]

    return score


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
    from polyprobe.eval import load_scorer

    return load_scorer(model, device="cpu", dtype=dtype).score


def load_reference(family: str, model: str, dtype: str) -> Method:
    """Return the scoring function of the released approach."""
    from . import reference

    return reference.load(family, model, dtype)


def load_peer_quantity(family: str, model: str, dtype: str) -> Method:
    """Return the scoring function of the released approach to lm-pub-quiz's quantity."""
    from . import reference

    return reference.load_peer_quantity(family, model, dtype)


def load_products(family: str, model: str, dtype: str) -> Method:
    """Return the floor: only the matrix products of the tokens left after merging."""
    from . import floor

    return floor.load(family, model, dtype)


METHODS = {
    "ours": load_ours,
    "reference": load_reference,
    "peer-quantity": load_peer_quantity,
    "lm-eval": load_lm_eval,
    "lm-pub-quiz": load_lm_pub_quiz,
    "floor": load_products,
    "operators": load_operators,
}


def main() -> None:
    """Load the model and answer until the end of the input."""
    parser = argparse.ArgumentParser()
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("family", choices=["causal", "masked", "seq2seq"])
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
