"""A seeded simulator of faults: commands against real files, with faults at chosen operations.

A seed chooses a schedule: a state of the files to start from, a sequence of commands, and for some
of them faults, each at an operation of a process: opening, writing, syncing, renaming or deleting a
file, a statement of SQLite, a request over HTTP. What must hold is in `check.py`.

    python -m tests.simulator 17             one seed, with its schedule
    python -m tests.simulator 17 --shorten   the shortest schedule that fails as it does
    python -m tests.simulator 0 --seeds 2000 seeds 0 to 1999
    … --real                                 with a process for each command, and SIGKILL

In one process (the default) files are real, and clock, servers, the page cache and other
processes are simulated (`machine.py`, `layer.py`, `servers.py`); with `--real` (`children.py`) only
the moment of a fault is chosen.
"""
