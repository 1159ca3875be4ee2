"""Write the JSON Schemas of run.json and results.json from the shapes that polyprobe checks.

python -m bench schemas            writes schema/run/{run,results}.schema.json
"""

import json
from collections.abc import Sequence
from pathlib import Path
from types import NoneType
from typing import Any, get_type_hints

from polyprobe.schema.run.settings import DEFINITION, Settings
from polyprobe.schema.run.shapes import BOUNDS, CHAT, REQUIRED, RESULTS, as_shape
from polyprobe.system.files import hash_json

FOLDER = Path(__file__).parents[1] / "schema" / "run"
DRAFT = "https://json-schema.org/draft/2020-12/schema"
NAMES = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    int: {"type": "integer", "minimum": 0, "maximum": 2**53},
    float: {"type": "number", "minimum": -1e300, "maximum": 1e300},
    Any: {},
}
SEALS = {"definition": int, "signature": str, "files": {str: str}, "sha256": str}


def translate(shape: Any) -> dict[str, Any]:
    """Translate a shape of `polyprobe.schema.run.shapes` to JSON Schema."""
    if isinstance(shape, tuple):
        return {"anyOf": [translate(part) for part in shape]}
    if isinstance(shape, list):
        n = len(shape)
        length = {"minItems": n, "maxItems": n} if n > 1 else {}
        return {"type": "array", "items": translate(shape[0]), **length}
    if not isinstance(shape, dict):
        return NAMES[shape]
    if str in shape:
        return {"type": "object", "additionalProperties": translate(shape[str])}
    named = {key: translate(part) for key, part in shape.items() if key is not ...}
    others: dict[str, Any] = {
        "additionalProperties": translate(shape[...]) if ... in shape else False
    }
    if ... in shape:
        others["patternProperties"] = {"_ci$": translate(BOUNDS)}
    return {"type": "object", "properties": named, **others}


def make_schemas() -> dict[str, dict[str, Any]]:
    """Return both schemas by the name of the file that they describe."""
    hints = {name: as_shape(hint) for name, hint in get_type_hints(Settings).items()}
    run = hints | {"chat": CHAT} | SEALS
    results = {**RESULTS, "sha256": str, "run_sha256": str}
    return {
        "run": _finish("run.json", translate(run), [*run]),
        "results": _finish("results.json", translate(results), REQUIRED),
    }


def _finish(file: str, schema: dict[str, Any], required: Sequence[str]) -> dict[str, Any]:
    """Add title and version: the definition of the figures, and a hash of the content."""
    content = {**schema, "required": [*required]}
    version = f"{DEFINITION}-{hash_json(content)[:8]}"
    place = f"urn:polyprobe:{file.removesuffix('.json')}:{version}"
    return {"$schema": DRAFT, "$id": place, "title": f"{file} of a run of polyprobe", **content}


def main(argv: Sequence[str]) -> None:
    """Write both files."""
    for name, schema in make_schemas().items():
        text = json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
        (FOLDER / f"{name}.schema.json").write_text(text, encoding="utf-8")
