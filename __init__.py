"""polyprobe measures whether a language model knows the same facts in every language.

`polyprobe.builder` makes datasets, `polyprobe.eval` scores models on them, `polyprobe.metrics`
contains the `evaluate` modules, `polyprobe.publish` shares datasets, metrics and results, and
`polyprobe.cli` is the `polyprobe` command.
"""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polyprobe.system.messages import PolyprobeError

__all__ = ["PolyprobeError", "__version__"]
__version__ = version("polyprobe")


def __getattr__(name: str) -> Any:
    if name == "PolyprobeError":  # late: its module imports rich, before Ctrl-C is handled
        from polyprobe.system.messages import PolyprobeError

        return PolyprobeError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
