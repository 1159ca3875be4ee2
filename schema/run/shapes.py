"""The shapes of run.json and results.json, and the values of tables, checked before any use.

A run may be a stranger's: its checksums tell that nothing was changed since, not what wrote it.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

import pyarrow as pa
import pyarrow.compute as pc

from polyprobe.system.messages import PolyprobeError

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
    "verdicts": FLOORS,
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
# Columns of tables of scores or predictions.
FULL = ("fact_id", "relation", "answers", "scores", "prompt", "answer_forms")
FULL_OR_NULL = ("n_tokens", "form_lengths")  # released scores have no numbers of tokens
NOT_EMPTY = ("answers", "scores", "fillings.log_c", "gold_log_c")
# Columns that have as long lists as another one, or places in its lists.
AS_LONG = dict.fromkeys(("n_tokens", "n_characters", "bigrams", "initials"), "scores")
AS_LONG |= dict.fromkeys(("donor_scores", "donor_bigrams", "donor_initials"), "scores")
AS_LONG |= {"form_lengths": "answer_forms"}
# Other limits than any finite number, and than 0 for counts; logarithms with room for rounding.
LEAST = {"n_masks": 1}
MOST = dict.fromkeys(("log_probability", "fillings.log_c", "gold_log_c"), 1.0)
PLACES = {"answers": "scores", "donor_answers": "scores"}
# Columns that have a value wherever another has one; a fact without `single_token` is not asked.
NEEDED = dict.fromkeys(("prediction", "n_masks", "log_probability"), "single_token")
NEEDED |= {"donor": "donor_scores"}
Fault = tuple[int, str]  # a row, and what is wrong in it


def find_wrong_results(results: Mapping[str, Any], languages: Sequence[str]) -> str:
    """Name what has no shape, is missing or of other languages than run.json; else ""."""
    if fault := find_wrong_shape(results, RESULTS):
        return fault
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
    if isinstance(part, list):
        yield [*chain.from_iterable(values)], part[0]
    elif str in part:
        yield [*chain.from_iterable(x.values() for x in values)], part[str]
    else:
        for key in set().union(*values):
            yield [x[key] for x in values if key in x], _choose(part, key)


def _choose(part: Any, key: Any) -> Any:
    if isinstance(part, list):
        return part[0]
    return part.get(str) or part.get(key) or (BOUNDS if key.endswith("_ci") else part[...])


def _list_parts(shape: Any) -> tuple[Any, ...]:
    return shape if isinstance(shape, tuple) else (shape,)


def find_wrong_value(table: pa.Table) -> str:
    """Name the first value that no run has, such as `row 3: scores has a null`; "" for none."""
    before = 0
    for batch in table.to_batches():
        for row, text in _list_faults(batch):
            return f"row {before + row + 1:,}: {text}"
        before += len(batch)
    return "" if before else "it has no rows"


def _list_faults(batch: pa.RecordBatch) -> Iterator[Fault]:
    names = batch.schema.names
    for name in names:
        partly = name in FULL_OR_NULL and batch[name].null_count < len(batch)
        yield from _search(batch[name], name, may_be_null=name not in FULL and not partly)
    sizes = {x: pc.list_value_length(batch[x]) for x in names if pa.types.is_list(batch[x].type)}
    for name in filter(AS_LONG.get, sizes):
        text = f"{name} has not as many values as {AS_LONG[name]}"
        yield from _mark(pc.not_equal(sizes[name], sizes[AS_LONG[name]]), text)
    for name in filter(PLACES.get, sizes):
        rows = pc.list_parent_indices(batch[name])
        outside = pc.greater_equal(pc.list_flatten(batch[name]), sizes[PLACES[name]].take(rows))
        for place, text in _mark(outside, f"{name} is not among {PLACES[name]}"):
            yield rows[place].as_py(), text
    for name in filter(NEEDED.get, names):
        lacks = pc.and_(batch[name].is_null(), batch[NEEDED[name]].is_valid())
        yield from _mark(lacks, f"{name} has a null beside {NEEDED[name]}")
    if "fillings" in names:
        overfull = pc.greater(batch["n_masks"], sizes["fillings"])
        yield from _mark(overfull, "n_masks is more than the fillings")
        # Old runs have none.
        valid = batch["prediction"].is_valid()
        counts = pc.if_else(valid, pc.fill_null(sizes["fillings"], 0), None)
        different = pc.not_equal(counts, pc.max(counts))
        yield from _mark(different, "fillings has fewer values than in other rows")


def _search(values: pa.Array, name: str, may_be_null: bool = False) -> Iterator[Fault]:
    """Yield nulls, numbers that are not finite and counts below zero, also those in lists."""
    if not may_be_null:
        yield from _mark(values.is_null(), f"{name} has a null")
    if pa.types.is_list(values.type):
        if name in NOT_EMPTY:
            yield from _mark(pc.equal(pc.list_value_length(values), 0), f"{name} is empty")
        inner = _search(pc.list_flatten(values), name)
        yield from ((pc.list_parent_indices(values)[k].as_py(), text) for k, text in inner)
    elif pa.types.is_struct(values.type):
        for part in values.type:
            yield from _search(pc.struct_field(values, part.name), f"{name}.{part.name}")
    elif pa.types.is_floating(values.type):
        yield from _mark(pc.invert(pc.is_finite(values)), f"{name} has a number that is not finite")
        if name in MOST:
            yield from _mark(pc.greater(values, MOST[name]), f"{name} has a probability above 1")
    elif pa.types.is_integer(values.type):
        minimum = LEAST.get(name, 0)
        yield from _mark(pc.less(values, minimum), f"{name} has a number below {minimum}")


def _mark(bad: pa.Array, text: str) -> Iterator[Fault]:
    if (row := pc.index(bad, pa.scalar(True)).as_py()) >= 0:
        yield row, text
