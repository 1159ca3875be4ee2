"""Search for the object in a sentence; `find_objects` and its packages load on first use."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .find import find_objects

__all__ = ["find_objects"]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name in __all__:
        from .find import find_objects

        return find_objects
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
