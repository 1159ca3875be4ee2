"""The shapes of run.json and results.json, which are checked before a value is used.

A run may be a stranger's: its checksums tell that nothing was changed since, not what wrote it.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from polyprobe.system.errors import PolyprobeError

# A shape is a type, Any, a tuple of alternatives, [shape], [shape, …] of this length, {str: shape},
# or {key: shape, ...: shape of other keys}. A float is finite, an int is a count, a key that ends
# in _ci has bounds. Keys may be absent, see `Content`.
NUMBER = (float, NoneType)  # null: undefined
VALUES = {str: NUMBER}  # by language, pair or figure
BOUNDS = ([float, float], NoneType)  # of an interval
FLOORS = {str: VALUES}
BINS = {"n": 10 * [int], ...: 10 * [NUMBER]}
MODULE = {"bins": BINS, "bins_single": BINS, "bins_multi": BINS, "effects": VALUES,
          "intervals": {str: BOUNDS}, "prior": VALUES, ...: NUMBER}  # fmt: skip
RELATION = {"n_queries": int, "accuracy": VALUES, "mean": VALUES, "intervals": {str: BOUNDS},
            "floors": FLOORS, ...: Any}  # fmt: skip
FIFTH = {"n": int, "accuracy": NUMBER, "ci": BOUNDS, ...: float}
TEMPLATE = {"n": int, "accuracy": float, "consistency": NUMBER, ...: str}
CHAT = ({"options": Any, ...: (str, NoneType)}, NoneType)
RESULTS: dict[Any, Any] = {
    "definition": int,
    "signature": str,
    "languages": [str],
    "n_queries": int,
    "mean": VALUES,
    "left_out": {str: (int, {str: int})},
    "subset": ({str: ([str], NoneType)}, NoneType),
    "own_candidates": bool,
    "chance": VALUES,
    "intervals": {str: {str: BOUNDS}},
    "by_relation": {str: RELATION},
    "floors": FLOORS,
    "floors_by_place": {str: FLOORS},
    "p_values": FLOORS,
    "donors": VALUES,
    "k_correct": [NUMBER],
    "k_share": ([NUMBER], NoneType),
    "letters_read": VALUES,
    "by_masks": {str: {str: [NUMBER]}},
    "n_masks": {str: [int]},
    "by_popularity": {str: {"parts": [FIFTH], ...: int}},
    "templates": {"by_language": FLOORS, "rows": [TEMPLATE], ...: Any},
    "resampling": {"clusters": str, ...: int},
    "options": {str: (str, bool, int, [str], NoneType)},
    ...: (float, NoneType, {str: (float, NoneType, MODULE)}),
}
REQUIRED = ("signature", "languages", "n_queries", "mean")
_TYPES: dict[Any, tuple[type, ...]] = {float: (int, float)}


def find_stray(results: Mapping[str, Any], languages: Sequence[str]) -> str:
    """Name what is missing or of other languages than run.json, figures without values; else ""."""
    for name in REQUIRED:
        if name not in results:
            return f"{name} is missing"
    if (there := results["languages"]) != languages:
        return f"languages is {there}, and in run.json {languages}"
    pairs = {"-".join(pair) for pair in product(languages, repeat=2)}
    for name, value in results.items():
        if name in results["mean"] and (fault := find_wrong_shape(value, VALUES, name)):
            return fault
        keys = {*value} if isinstance(value, dict) and name not in RESULTS else {*()}
        if not (keys <= {*languages} or keys <= pairs):
            return f"{name} has values of {', '.join(keys)}"
    for language, curves in results.get("by_masks", {}).items():
        if len({*map(len, curves.values())}) > 1:
            return f"by_masks.{language} has lists of several lengths"
    return ""


class Content(dict[str, Any]):
    """An object of a JSON file of a run; a key that is used and missing is an error."""

    def __init__(self, content: dict[str, Any], place: str, remedy: str) -> None:
        super().__init__()
        self._place, self._remedy = place, remedy
        for key, value in content.items():
            inner = isinstance(value, dict)
            self[key] = Content(value, f"{place} {key}:", remedy) if inner else value

    def __missing__(self, key: str) -> Any:
        raise PolyprobeError(f"{self._place} {key} is missing; {self._remedy}")


def as_shape(hint: Any) -> Any:
    """Make the shape of a type hint."""
    parts = tuple(map(as_shape, get_args(hint)))
    if isinstance(hint, UnionType):
        return parts
    return {list: [*parts], dict: {str: parts[-1:] or Any}}.get(get_origin(hint), hint)


def find_wrong_shape(value: Any, shape: Any, place: str = "") -> str:
    """Name the first value that has not the shape, such as `mean.rankc is 'x'`; "" for none."""
    if fits([value], shape):
        return ""
    for part in _list_parts(shape):
        if isinstance(part, list | dict) and isinstance(value, type(part)):
            for name, child in enumerate(value) if isinstance(value, list) else value.items():
                if fault := find_wrong_shape(child, _choose(part, name), f"{place}.{name}"):
                    return fault
    return f"{place.lstrip('.')} is {value!r:.40}"


# A level at a time: results.json of 53 languages has 100,000 values.
def fits(values: Sequence[Any], shape: Any) -> bool:
    """Tell whether all values have a shape."""
    n = 0
    for part in _list_parts(shape):
        kind = type(part) if isinstance(part, list | dict) else part
        types = _TYPES.get(kind, (kind,))
        same = values if kind is Any else [x for x in values if type(x) in types]
        n += len(same)
        limits = {float: (-1e300, 1e300), int: (0, 2**53)}.get(kind)
        if limits and not all(limits[0] <= x <= limits[1] for x in same):
            return False
        if kind in (list, dict) and not all(fits(*level) for level in _descend(same, part)):
            return False
        if kind is list and len(part) > 1 and any(len(x) != len(part) for x in same):
            return False
    return n == len(values)


def _descend(values: Sequence[Any], part: Any) -> Iterator[tuple[list[Any], Any]]:
    """Yield the values inside of lists or objects, with their shape."""
    if isinstance(part, list):
        yield [*chain.from_iterable(values)], part[0]
    elif str in part:
        yield [*chain.from_iterable(x.values() for x in values)], part[str]
    else:
        for key in set().union(*values):
            yield [x[key] for x in values if key in x], _choose(part, key)


def _choose(part: Any, key: Any) -> Any:
    """Choose the shape of an item or a key."""
    if isinstance(part, list):
        return part[0]
    return part.get(str) or part.get(key) or (BOUNDS if key.endswith("_ci") else part[...])


def _list_parts(shape: Any) -> tuple[Any, ...]:
    return shape if isinstance(shape, tuple) else (shape,)
