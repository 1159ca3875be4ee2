"""Files of a run, a card or a table as a stranger may have made them, with right checksums."""

import hashlib
import json
from copy import deepcopy
from math import inf, nan

import pyarrow as pa
import pyarrow.parquet as pq

from polyprobe.system.files import hash_json

OWN = {"sha256", "run_sha256", "files", "signature", "definition"}  # what checksums depend on
VALUES = ("text", "NaN", "", "../../x", "a|b\n\x1b[31m", nan, inf, None, True, -1, 0.5, 3, 1e308)
VALUES += (10**30, [], {}, ["x"], [1.0], {"x": 1})


def list_paths(value, path=()):
    """Yield the path of each value inside."""
    items = {dict: dict.items, list: enumerate}.get(type(value), lambda _: ())(value)
    for key, child in items:
        yield (*path, key)
        yield from list_paths(child, (*path, key))


def change_value(content, draw):
    """Return a copy in which a value is another, in a list, under another key or missing."""
    content = deepcopy(content)
    paths = [path for path in list_paths(content) if path[0] not in OWN]
    top = draw.choice(sorted({path[0] for path in paths}))
    *ways, key = draw.choice([path for path in paths if path[0] == top])
    node = content
    for step in ways:
        node = node[step]
    match draw.choice(("value", "value", "value", "list", "key", "missing")):
        case "value":
            node[key] = draw.choice(VALUES)
        case "list":
            node[key] = [node[key]]
        case "key" if isinstance(node, dict):
            node[f"x{key}"] = node.pop(key)
        case _:
            del node[key]
    return content


def reseal_json(folder, name, content):
    """Write run.json or results.json, and what depends on it, as polyprobe would seal it."""

    def write(name, value):
        value = {key: x for key, x in value.items() if key != "sha256"}
        seal = hash_json(value)
        (folder / name).write_text(json.dumps({**value, "sha256": seal}))  # NaN too
        return seal

    seal = write(name, content)
    if name == "run.json":
        results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        write("results.json", {**results, "run_sha256": seal})


CELLS = {"string": ("", "x", "a|b\n\x1b[31m"), "bool": (True, False)}
CELLS |= {"int32": (-1, 0, 1, 7, 2**31 - 1), "float": (nan, inf, -1.0, 0.0, 3e38)}


def change_cell(file, draw):
    """Change values in a column of a Parquet file, one or all, or cut rows off."""
    table = pq.read_table(file)
    columns = [k for k, column in enumerate(table.columns) if column.null_count < len(table)]
    number, row = draw.choice(columns), draw.randrange(len(table))
    field, values = table.schema.field(number), table[number].to_pylist()
    for place in draw.choice(([row], [row], range(len(values)))):
        values[place] = other_value(values[place], field.type, draw)
    table = table.set_column(number, field, pa.array(values, field.type))
    pq.write_table(table.slice(0, row) if draw.random() < 0.05 else table, file)


def other_value(value, kind, draw):
    """Return another value of an Arrow type, a null, or a list that is shorter or longer."""
    if draw.random() < 0.15:
        return None
    if pa.types.is_struct(kind):
        field = draw.choice(list(kind))
        return {
            **(value or {}),
            field.name: other_value((value or {}).get(field.name), field.type, draw),
        }
    if not pa.types.is_list(kind):
        return draw.choice(CELLS[str(kind)])
    first, *rest = value or [None]
    item = other_value(first, kind.value_type, draw)
    return draw.choice(([], rest, [*rest, first, item], [item, *rest]))


def reseal_files(folder):
    """Write run.json and results.json with the hashes of the files as they are now."""
    content = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    files = {x.stem: hashlib.sha256(x.read_bytes()).hexdigest() for x in folder.glob("*/*.parquet")}
    reseal_json(folder, "run.json", content | {"files": files})
