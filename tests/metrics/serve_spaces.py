"""Serve copies of Spaces, `FOLDER=PORT …`, as by `python app.py` in each folder.

Slow common packages are imported once. Each app then runs as a script in its own process, with its
folder first in the module path and without modules of other apps. Packages that a Space does not
install are not available.
"""

import os
import runpy
import sys

ABSENT = ("polyprobe", "torch", "transformers")


class Without:
    """A finder of modules that finds none of ABSENT."""

    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        found = name.partition(".")[0] not in ABSENT
        return self.finder.find_spec(name, path, target) if found else None


def main(pairs):
    sys.meta_path[:] = map(Without, sys.meta_path)
    import evaluate  # noqa: F401
    import gradio  # noqa: F401

    for pair in pairs:
        folder, port = pair.rsplit("=", 1)
        if os.fork() == 0:
            os.chdir(folder)
            os.environ["GRADIO_SERVER_PORT"] = port
            sys.path[0], sys.argv = folder, ["app.py"]
            runpy.run_path("app.py", run_name="__main__")
            os._exit(0)
    while True:
        os.wait()


if __name__ == "__main__":
    main(sys.argv[1:])
