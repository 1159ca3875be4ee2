"""What merging leaves of all of BMLAMA-17: tokens by language and model family."""

from collections.abc import Callable
from typing import Any, NamedTuple

from floor import MERGE, count_merged, count_naive, fill_rows
from networks import NETWORKS
from rows import take_rows
from timing import Setting
from transformers import AutoTokenizer

MODELS = ["decoder", "encoder-30k", "encoder-decoder-30k"]
LANGUAGES = ("en", "ru", "zh", "ar")


class Merged(NamedTuple):
    """`Work` of one model in one language: as released, and by what rows must share."""

    model: str
    family: str
    language: str
    naive: list[int]
    merged: dict[str, list[int]]


def measure(setting: Setting, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return the counts of every model and language."""
    return [count(setting, model, x)._asdict() for model in MODELS for x in LANGUAGES]


def count(setting: Setting, model: str, language: str) -> Merged:
    """Return what one model must run for a language."""
    tokenizer = AutoTokenizer.from_pretrained(setting.models / model)
    rows = take_rows(setting.dataset, language, setting.rows)
    family = NETWORKS[model].family
    filled = fill_rows(family, tokenizer, rows)
    merged = {m: list(count_merged(family, rows.prompts, filled, m)) for m in MERGE}
    return Merged(model, family, language, list(count_naive(family, filled)), merged)
