"""Queries with scores to keep, and what a store's folder holds."""

import numpy as np

from polyprobe.eval.work.known_scores import Known

IDENTITY = {
    "model": "owner/model",
    "revision": "0123abc",
    "tokenizer": "sha256-77",
    "dtype": "float32",
    "scoring": "bmlama-eq10",
    "bos": "auto",
    "path": "tree",
    "device": "cpu",
    "torch": "2.13.0",
}
WARNING = "warning: {} {}; its rows are scored again\n"


def queries(*numbers):
    """Return prompts, candidates and what is known of them; all of it follows from the numbers."""
    prompts = [f"The capital of {n} is [Y]." for n in numbers]
    candidates = [[f"c{n}-{k}" for k in range(1 + n % 3)] for n in numbers]
    known = [
        Known(
            [float(np.float32(-n - k / 7)) for k in range(len(row))],
            [1 + (n + k) % 4 for k in range(len(row))],
            [0] if n % 5 == 0 else [],
        )
        for n, row in zip(numbers, candidates, strict=True)
    ]
    return prompts, candidates, known


def parts(store):
    return sorted(store.folder.glob("*.parquet"))


def names(store):
    return {file.name for file in store.folder.iterdir()}
