"""Files of a model that are refused before anything is built, and weights that fit no layer."""

import json
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from torch.nn import ModuleList

from polyprobe.system.errors import PolyprobeError, quote
from polyprobe.system.hashing import list_model_files

from .places import Place

# Numbers of a configuration that cost time and memory before the weights are compared with it, and
# the largest ones without weights to compare with.
LAYERS = re.compile(r"(layers?|depth)$")
SIZES = re.compile(r"(size|dim|embd|d_model|d_ff|d_kv|inner|heads?|labels|experts|buckets)$")
MOST_LAYERS, MOST_SIZE = 1_000, 2**22
FEW_LAYERS, SMALL_SIZE, PACKED = 64, 2**17, 8  # always allowed; 4-bit weights in one integer


def check_files(places: Iterable[Place]) -> None:
    """Refuse absurd numbers in the configuration, and weights or tokenizers outside the folder."""
    for place in places:
        if problem := _find_problem(place):
            raise PolyprobeError(
                f"cannot load the model in {place.name}: {problem}; correct the files"
            )


def _find_problem(place: Place) -> str:
    problem, file = "", None if place.gguf else place.file("config.json")
    # Of the Hub some of the weights may be here.
    layers, size = _measure(Path(place.path).glob("*.safetensors") if place.local else ())
    for name, value in _list_numbers(_read(file)) if file else ():
        limit = layers if LAYERS.search(name) else size if SIZES.search(name) else value
        if value > limit:
            problem = f"{name} in its config.json is {value}, its weights can have {limit} at most"
    hashed = {*list_model_files(Path(place.path))} if place.local else set()
    for name, path in _list_named(Path(place.path)) if place.local else ():
        if path not in hashed:
            problem = f"{name} names {quote(str(path))}, which its revision does not cover"
    return problem


def check_header(place: Place, config: Any) -> None:
    """Refuse numbers of a GGUF file's header that its tensors do not have."""
    layers = getattr(config, "num_hidden_layers", 0)
    if place.gguf:
        from gguf import GGUFReader

        tensors = GGUFReader(Path(place.path, place.gguf)).tensors
        numbers = [re.match(r"blk\.(\d+)\.", tensor.name) for tensor in tensors]
        n_blocks = max((int(number[1]) + 1 for number in numbers if number), default=layers)
        if layers != n_blocks:
            raise PolyprobeError(
                f"cannot load the model in {place.name}: its header has {layers} layers, its "
                f"tensors are of {n_blocks}; download the file again"
            )


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, RecursionError, ValueError):
        return {}  # transformers names the damage


def _list_numbers(value: Any, name: str = "") -> Iterator[tuple[str, int]]:
    if isinstance(value, int) and not isinstance(value, bool):
        yield name, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _list_numbers(item, key)


def _measure(files: Iterable[Path]) -> tuple[int, int]:
    """Return the most layers and the largest size that the headers of weights allow."""
    n_tensors, longest = 0, 0
    for file in filter(Path.is_file, files):
        try:
            with file.open("rb") as handle:
                (length,) = struct.unpack("<Q", handle.read(8))
                header = json.loads(handle.read(min(length, file.stat().st_size)))
            shapes = [value["shape"] for key, value in header.items() if key != "__metadata__"]
            longest = max(longest, *(max(shape, default=0) for shape in shapes))
        except (AttributeError, KeyError, OSError, TypeError, ValueError, struct.error):
            continue  # damaged, which transformers names
        n_tensors += len(shapes)
    if not n_tensors:
        return MOST_LAYERS, MOST_SIZE
    return max(FEW_LAYERS, n_tensors), max(SMALL_SIZE, PACKED * longest)


def _list_named(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files that an index of weights or the settings of the tokenizer name."""
    for index in folder.glob("*.index.json"):
        weights = _read(index)
        weights = weights.get("weight_map") if isinstance(weights, dict) else None
        for name in dict.fromkeys(weights.values()) if isinstance(weights, dict) else ():
            yield index.name, folder / str(name)
    settings = _read(folder / "tokenizer_config.json")
    for key, name in settings.items() if isinstance(settings, dict) else ():
        # paths of the machine where it was saved do not exist here
        if key.endswith(("_file", "_spm")) and isinstance(name, str) and (folder / name).is_file():
            yield f"{key} in tokenizer_config.json", folder / name


def check_fit(network: Any, place: Place, info: Mapping[str, Any]) -> None:
    """Refuse weights that are missing, or of a layer that the configuration does not have."""
    missing = sorted(info.get("missing_keys", ()))
    if missing:
        raise PolyprobeError(
            f"model '{place.name}' has no language-model head, or its weights are incomplete: "
            f"{len(missing)} tensors are missing, {missing[0]} the first"
        )
    stacks = {f".{x}": len(y) for x, y in network.named_modules() if isinstance(y, ModuleList)}
    for key in sorted(info.get("unexpected_keys", ())):
        for part in re.finditer(r"\.(\d+)\.", key):
            front = f".{key[: part.start()]}"
            sizes = {size for name, size in stacks.items() if name.endswith(front)}
            if sizes and int(part[1]) >= max(sizes):
                raise PolyprobeError(
                    f"the configuration of model '{place.name}' has fewer layers than its weights: "
                    f"{key} has no place; correct config.json"
                )
