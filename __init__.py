"""polyprobe measures whether a language model knows the same facts in every language.

`polyprobe.builder` makes datasets, `polyprobe.eval` scores models on them, `polyprobe.metrics`
contains the `evaluate` modules, `polyprobe.publish` shares datasets, metrics and results, and
`polyprobe.cli` is the `polyprobe` command.
"""

from importlib.metadata import version

from polyprobe.system.messages import PolyprobeError

__all__ = ["PolyprobeError", "__version__"]
__version__ = version("polyprobe")
