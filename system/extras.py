"""Extras: packages that a part of polyprobe needs."""

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import PolyprobeError

EXTRAS = {"builder": ("babel", "polars", "pooch", "requests", "scipy"), "sentences": ("rapidfuzz",)}


@contextmanager
def explain_missing_extras() -> Iterator[None]:
    """Turn the want of a package that only the builder needs into one line."""
    try:
        yield
    except ModuleNotFoundError as error:
        extra = next((extra for extra, packages in EXTRAS.items() if error.name in packages), None)
        if not extra:
            raise
        raise PolyprobeError(
            f"building needs the package {error.name}: pip install 'polyprobe[{extra}]'"
        ) from error
