"""Values of arguments and options, by their annotations."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import wraps
from inspect import Parameter, signature
from math import isfinite
from numbers import Integral, Real
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, cast, get_args, get_origin

from .errors import PolyprobeError, quote

Function = TypeVar("Function", bound=Callable[..., Any])
# Types as messages name them.
_KINDS = {bool: "True or False", int: "a whole number", float: "a finite number", str: "a text"}
_KINDS |= {Path: "a path", Mapping: "a dictionary", type(None): "None"}
_KINDS |= dict.fromkeys((Sequence, Iterable, list, tuple), "a list")


def check_arguments(function: Function) -> Function:
    """Give a public function values of the annotated types; refuse others, see `convert_value`."""
    head = signature(function)
    several = (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL)

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        bound = head.bind(*arguments, **keywords)
        for name, value in bound.arguments.items():
            part = head.parameters[name]
            if part.kind not in several and value is not part.default:
                bound.arguments[name] = convert_value(name, value, part.annotation)
        return function(*bound.args, **bound.kwargs)

    return cast("Function", call)


def convert_value(name: str, value: Any, annotation: Any) -> Any:
    """Return the value as the annotated type: numbers of numpy, lists and paths are converted."""
    kinds = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    for kind in kinds:
        try:
            return _convert_to(kind, value)
        except (TypeError, ValueError):
            continue
    expected = " or ".join(dict.fromkeys(map(_name, kinds)))
    if isinstance(value, str) and str in kinds:
        expected = "a text without lone surrogates"
    raise PolyprobeError(f"{name} must be {expected}, got {quote(value)}")


def _name(kind: Any) -> str:
    name = _KINDS.get(get_origin(kind) or kind) or f"a {getattr(kind, '__name__', kind)}"
    inner = get_args(kind)[0] if name == "a list" else None
    return f"{name} of {_KINDS[inner].removeprefix('a ')}s" if inner in (str, Path) else name


def _convert_to(kind: Any, value: Any) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if kind in (str, Path) and isinstance(value, str | os.PathLike):
        text = os.fsdecode(value)
        if kind is str and text.encode() is not None:  # a lone surrogate is no text
            return text
        if "\0" not in text and os.fsencode(text) is not None:
            return Path(text)
    elif kind is int and isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    elif kind is float and isinstance(value, Real) and not isinstance(value, bool):
        if isfinite(value):
            return float(value)
    elif origin in (tuple, list, Sequence, Iterable):
        is_set = isinstance(value, Set) and origin is not Iterable  # it has no order
        if not (is_set or isinstance(value, str | bytes | Mapping)):
            items = [_convert_to(inner[0], item) for item in value]
            return items if origin is list else tuple(items)
    elif isinstance(kind, str):  # the name of a type that is not imported
        if not kind.isidentifier() or kind in [x.__name__ for x in type(value).__mro__]:
            return value
    elif kind is Any or not isinstance(origin or kind, type):
        return value
    elif kind not in (str, Path, int, float) and isinstance(value, origin or kind):
        if origin is Mapping:
            for item in value.values():
                _convert_to(inner[1], item)
        return value
    raise TypeError
