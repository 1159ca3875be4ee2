"""Queries with scores to store, and the content of a store's file."""

import sqlite3
from contextlib import closing

import numpy as np

from polyprobe.scoring import QueryScores

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
WARNING = "warning: {} scores in {} are damaged; making them again\n"


def queries(*numbers):
    """Return prompts, candidates and their scores, all determined by the numbers."""
    prompts = [f"The capital of {n} is [Y]." for n in numbers]
    candidates = [[f"c{n}-{k}" for k in range(1 + n % 3)] for n in numbers]
    known = [
        QueryScores(
            [float(np.float32(-n - k / 7)) for k in range(len(row))],
            [1 + (n + k) % 4 for k in range(len(row))],
            [0] if n % 5 == 0 else [],
        )
        for n, row in zip(numbers, candidates, strict=True)
    ]
    return prompts, candidates, known


def rows(file):
    """Return the rows of a store's file as {key: value}."""
    return dict(execute(file, "SELECT * FROM scores"))


def execute(file, *query):
    with closing(sqlite3.connect(file)) as database, database:
        return database.execute(*query).fetchall()


def names(store):
    return {file.name for file in store.file.parent.iterdir()}
