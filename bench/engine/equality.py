"""Compare scores with the reference in more scripts, and ways of rounding with float32."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple

from .models import Setting, take_rows
from .race import ENTRIES, Difference, Entry, compare, start, stop_if_wrong

MODELS = ["decoder", "encoder-30k", "encoder-decoder-30k"]
# In addition to en and ru, the languages of the timed rows.
LANGUAGES = ("ar", "el", "fa", "he", "ja", "ko", "tr", "zh")
SAMPLE = 8
SHORT_LANGUAGES = ("en", "ru")
SHORT_SAMPLE = 100


class Equal(NamedTuple):
    """The difference of our scores from `against` on rows of a language."""

    model: str
    against: str
    language: str
    difference: dict[str, float]


def measure(setting: Setting, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return the differences of every model; stop if float32 scores are not equal."""
    entries = [e for part in ENTRIES.values() for e in part if e.model in MODELS]
    found = [row for entry in entries for row in _measure(setting, entry)]
    return [row._asdict() for row in found]


def _measure(setting: Setting, entry: Entry) -> list[Equal]:
    found = []
    with ExitStack() as stack:
        ours, reference = (start(stack, setting, entry, m) for m in ("ours", "reference"))
        shorter = {
            "bfloat16": start(stack, setting, entry, "ours", dtype="bfloat16"),
            "bfloat16 products": start(stack, setting, entry, "rounded"),
        }
        for language in LANGUAGES:
            rows = take_rows(setting.dataset, language, setting.rows or SAMPLE)
            difference = compare(ours.ask(rows).value, reference.ask(rows).value)
            stop_if_wrong(f"ours, {entry.model}, {language}", difference.error)
            found.append(_row(entry, "reference", language, difference))
        for language in SHORT_LANGUAGES:
            rows = take_rows(setting.dataset, language, setting.rows or SHORT_SAMPLE)
            full = ours.ask(rows).value
            for name, worker in shorter.items():
                difference = compare(worker.ask(rows).value, full)
                found.append(
                    _row(entry, f"polyprobe, {name} against float32", language, difference)
                )
    return found


def _row(entry: Entry, against: str, language: str, difference: Difference) -> Equal:
    return Equal(entry.model, against, language, difference._asdict())
