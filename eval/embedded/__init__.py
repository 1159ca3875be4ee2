"""The embedded model under its public name; its files are in `polyprobe.scoring.embedded`."""

import sys

import polyprobe.scoring.embedded

# importlib.resources.files("polyprobe.eval.embedded") / "geolm" is a path of the embedded model.
sys.modules[__name__] = polyprobe.scoring.embedded
