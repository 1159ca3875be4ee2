"""Tasks to score in other processes, and the scores of this one."""

import pickle
from contextlib import contextmanager
from importlib.util import find_spec

import psutil
import pytest
import torch

from polyprobe.eval.work.workers import Task, ray_cluster, score_here
from polyprobe.eval.work.workers.ray_cluster import RayWorker
from polyprobe.schema.run.settings import versions
from polyprobe.scoring.load import load
from polyprobe.scoring.options import ScorerOptions

needs_ray = pytest.mark.skipif(not find_spec("ray"), reason="needs Ray (pip install ray)")
PLACES = ["Paris", "Berlin", "Москва", "北京", "東京", "باريس", "Hà Nội", "Παρίσι"]
SENTENCES = ["The capital of {} is [Y].", "[Y] is a city like {}.", "Столица {} — [Y]."]


def tasks_of(n, rows=3):
    asked = [s.format(f"{place} {k}") for k in range(n) for place in PLACES for s in SENTENCES]
    return [
        Task(k, "en" if k % 2 else "ru", asked[k * rows : k * rows + rows], [PLACES[:4]] * rows)
        for k in range(n)
    ]


def silent(task, done, total):
    pass


OPTIONS = ScorerOptions(device="cpu", scoring="object", bos="always", batch_tokens=100)


def here(model, tasks):
    return {t.number: s for t, s in score_here(load(model, OPTIONS).scorer, tasks, silent)}


def command_of(process):
    try:
        return process.cmdline()
    except psutil.Error:
        return []


class CrewHere:
    """A crew of one worker in this process, which has only what is sent to it."""

    def __init__(self, source):
        self.source = source
        self.worker = RayWorker(torch.get_num_threads(), versions())

    def describe(self):
        return self.worker.describe(pickle.loads(pickle.dumps(self.source)))

    def score(self, source, tasks, report):
        for task in tasks:
            yield self.worker.score(pickle.loads(pickle.dumps(source)), task)


def use_crew_here(monkeypatch):
    """Let `--devices` and `--ray` use `CrewHere`."""
    crew = contextmanager(lambda source, *_: (yield CrewHere(source)))
    monkeypatch.setattr(ray_cluster, "open_crew", crew)
