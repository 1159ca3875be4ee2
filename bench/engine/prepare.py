"""Candidates that are tokenized and planned in a second of processor time."""

from collections.abc import Callable
from contextlib import ExitStack
from statistics import median
from typing import Any

from .equality import MODELS
from .models import Setting, take_rows
from .race import ENTRIES, LANGUAGES, start

SAMPLE = 500


def measure(setting: Setting, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return the candidates and seconds of every model and language."""
    found = []
    for entry in (e for part in ENTRIES.values() for e in part if e.model in MODELS):
        with ExitStack() as stack:
            worker = start(stack, setting, entry, "prepare")
            for language in LANGUAGES:
                rows = take_rows(setting.dataset, language, setting.rows or SAMPLE)
                worker.ask(rows)
                seconds = median(worker.ask(rows).cpu for _ in range(setting.rounds))
                candidates = sum(map(len, rows.candidates))
                found.append(
                    {
                        "model": entry.model,
                        "language": language,
                        "candidates": candidates,
                        "seconds": seconds,
                    }
                )
    return found
