"""One way of scoring in a process of its own: it answers rows with values and their seconds.

    python worker.py METHOD FAMILY MODEL [--dtype float32] [--threads 2]

A line of JSON in ({"prompts": …, "candidates": …}), a line out ({"value", "wall", "cpu"}). The
process waits in between, so that of many workers only the one that was asked computes.
"""

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

Method = Callable[[list[str], list[list[str]]], Any]


def load_ours(family: str, model: str, dtype: str) -> Method:
    """Return what is measured: `load_scorer(model).score`."""
    from polyprobe.eval import load_scorer

    return load_scorer(model, device="cpu", dtype=dtype).score


def load_reference(family: str, model: str, dtype: str) -> Method:
    """Return the released approach."""
    import reference

    return reference.load(family, model, dtype)


def load_peer_quantity(family: str, model: str, dtype: str) -> Method:
    """Return the released approach to what lm-pub-quiz scores."""
    import reference

    return reference.load_peer_quantity(family, model, dtype)


def load_lm_eval(family: str, model: str, dtype: str) -> Method:
    """Return lm-evaluation-harness."""
    import peers

    return peers.load_lm_eval(family, model, dtype)


def load_lm_pub_quiz(family: str, model: str, dtype: str) -> Method:
    """Return lm-pub-quiz."""
    import peers

    return peers.load_lm_pub_quiz(family, model, dtype)


def load_products(family: str, model: str, dtype: str) -> Method:
    """Return the floor: the matrix products of what is left after merging, and nothing else."""
    import products

    return products.load(family, model, dtype)


def load_operators(family: str, model: str, dtype: str) -> Method:
    """Return ours under torch's profiler; the value is its seconds by operator."""
    import operators

    return operators.load(family, model, dtype)


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
    """Load the model, then answer until the input ends."""
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
    """Return the method's value of the rows, with wall-clock and processor seconds."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    value = method(prompts, candidates)
    return {
        "value": value,
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
    }


def _take_stdout() -> Any:
    """Return the pipe to the driver; what libraries print goes to the log instead."""
    pipe = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return pipe


if __name__ == "__main__":
    main()
