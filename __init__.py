"""polyprobe tells whether a language model knows the same facts in every language.

The rooms: `polyprobe.builder` makes datasets, `polyprobe.eval` puts a model in front of them,
`polyprobe.metrics` holds the evaluate modules, `polyprobe.cli` the `polyprobe` command.
"""

from importlib.metadata import version

__version__ = version("polyprobe")


class PolyprobeError(Exception):
    """A mistake that the user can mend: one line that names the value, the place and the remedy.

    The command line prints it without a traceback and exits with status 1.
    """
