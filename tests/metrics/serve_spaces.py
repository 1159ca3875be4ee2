"""Serve copies of Spaces, `FOLDER=PORT …`, as each would be by `python app.py` in its folder.

What takes seconds and is the same for all is imported once; each app then runs in a process of its
own as a script: its folder is where it looks for modules first, and nothing of another is loaded.
What a Space does not install is not to be had.
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
