"""Files of a run, a card or a table as a stranger may have made them, with right checksums."""

import json
from copy import deepcopy
from math import inf, nan

from polyprobe.system.hashing import hash_json

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
