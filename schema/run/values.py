"""The values of a table of scores or predictions, which are checked before they are used."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

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
        counts = pc.if_else(
            batch["prediction"].is_valid(), pc.fill_null(sizes["fillings"], 0), None
        )
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
        least = LEAST.get(name, 0)
        yield from _mark(pc.less(values, least), f"{name} has a number below {least}")


def _mark(bad: pa.Array, text: str) -> Iterator[Fault]:
    if (row := pc.index(bad, pa.scalar(True)).as_py()) >= 0:
        yield row, text
