"""polyprobe tells whether a language model knows the same facts in every language.

The rooms: `polyprobe.builder` makes datasets, `polyprobe.eval` puts a model in front of them,
`polyprobe.metrics` holds the evaluate modules, `polyprobe.cli` the `polyprobe` command.
"""

import os
from importlib.metadata import version
from pathlib import Path

__version__ = version("polyprobe")


class PolyprobeError(Exception):
    """A mistake that the user can mend: one line that names the value, the place and the remedy.

    The command line prints it without a traceback and exits with status 1.
    """


def cache_folder() -> Path:
    """Return where scores and translations are kept for later runs.

    It is POLYPROBE_CACHE where that is set, else XDG_CACHE_HOME/polyprobe, else ~/.cache/polyprobe.

    As the XDG specification has it, an XDG_CACHE_HOME that is no absolute path does not count.
    """
    try:
        if own := os.environ.get("POLYPROBE_CACHE"):
            return Path(own).expanduser()
        caches = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return (caches if caches.is_absolute() else Path.home() / ".cache") / "polyprobe"
    except RuntimeError as error:
        raise PolyprobeError(f"no place for the cache ({error}); set POLYPROBE_CACHE") from error
