"""Translators of sentences: one file for each engine, behind one interface."""

import inspect
from collections.abc import Iterable
from importlib import import_module
from typing import Any, get_args

from polyprobe.system.files import read_toml
from polyprobe.system.messages import PolyprobeError, explain_missing_extras, refuse_unknown
from polyprobe.system.options import check_arguments

from .translator import PairTexts, Translation, Translator

__all__ = ["TRANSLATORS", "PairTexts", "Translation", "Translator", "load_translator", "read_pairs"]

# Names, also of the modules and as `Translator.name`, and titles.
TRANSLATORS: dict[str, str] = read_toml(__package__, "translators.toml")
# Options of every translator: attributes of `Translator`.
SETTINGS = {"batch_size": int, "concurrency": int, "per_second": float, "timeout": float}
NUMBERS = {int: "a whole number", float: "a number"}
LIMIT = 1e9  # clocks do not accept more seconds


@check_arguments
def load_translator(name: str, **options: str) -> Translator:
    """Return a translator, made with the parameters of its class, and SETTINGS, as texts."""
    refuse_unknown("translator", [name], "polyprobe", TRANSLATORS)
    with explain_missing_extras(f"the translator {name}", any_package=True):
        module = import_module(f".engines.{name}", __name__)
        engine = next(x for x in vars(module).values() if getattr(x, "name", None) == name)
        parameters = inspect.signature(engine, eval_str=True).parameters
        kinds: dict[str, type] = {**SETTINGS}
        for option, each in parameters.items():
            # `float | None` counts as float, all but numbers as text.
            parts = get_args(each.annotation) or (each.annotation,)
            kinds[option] = next((kind for kind in NUMBERS if kind in parts), str)
        refuse_unknown("option", options, f"translator {name}", kinds)
        for option, each in parameters.items():
            if each.default is each.empty and option not in options:
                raise PolyprobeError(f"the translator {name} needs the option {option}=…")
        values = {key: _convert(name, key, text, kinds[key]) for key, text in options.items()}
        translator: Translator = engine(**{key: values[key] for key in values if key in parameters})
    for key in values.keys() - parameters.keys():
        setattr(translator, key, values[key])
    return translator


def read_pairs(texts: Iterable[str], place: str) -> dict[str, str]:
    """Return {option: value} of texts like `option=value`; PolyprobeError names `place`.

    >>> read_pairs(["model=facebook/nllb", "url=http://x/?a=b"], "--translator-option")
    {'model': 'facebook/nllb', 'url': 'http://x/?a=b'}
    """
    pairs = {}
    for text in texts:
        option, equals, value = text.partition("=")
        if not option or not equals:
            raise PolyprobeError(f"{place}: expected key=value, got {text!r}")
        pairs[option] = value
    return pairs


def _convert(name: str, option: str, text: Any, kind: type) -> Any:
    """Return an option's value; a number from Python is checked as well."""
    if kind not in NUMBERS:
        return text
    try:
        value = kind(text)
    except (TypeError, ValueError):
        value = 0
    if not 0 < value < LIMIT:
        line = f"{text!r} for {option} of the translator {name}; expected {NUMBERS[kind]} above 0"
        raise PolyprobeError(line)
    return value
