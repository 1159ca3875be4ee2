"""Tasks to score in other processes, and the scores of this one."""

import psutil

from polyprobe.eval.work.workers import Task, score_here
from polyprobe.scoring.load import load
from polyprobe.scoring.options import ScorerOptions

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
