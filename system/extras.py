"""Extras: packages that one part of polyprobe needs."""

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import PolyprobeError

EXTRAS = {
    "builder": ("babel", "polars", "pooch", "requests"),
    "sentences": ("rapidfuzz",),
    "eval": (
        "accelerate",
        "gguf",
        "psutil",
        "safetensors",
        "sentencepiece",
        "torch",
        "transformers",
    ),
}


@contextmanager
def explain_missing_extras(task: str = "building") -> Iterator[None]:
    """Replace the import error of a package of an extra by one line that names the extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        extra = next((extra for extra, packages in EXTRAS.items() if error.name in packages), None)
        if not extra:
            raise
        raise PolyprobeError(
            f"{task} needs the package {error.name}: pip install 'polyprobe[{extra}]'"
        ) from error
