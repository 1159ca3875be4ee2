"""Limits of time and memory for a stranger's code: a process of its own."""

import os
import pickle
import resource
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL, SIGXCPU
from typing import TypeVar

from polyprobe.system.messages import PolyprobeError, one_line

Result = TypeVar("Result")
SECONDS, MEMORY = 5, 2**30  # of processor time, bytes in addition to those of this process


class ExceededError(Exception):
    """A call that took too much time or memory, or ended its process."""


def run_limited(call: Callable[[], Result]) -> Result:
    """Return the result of a call in a copy of this process; nothing else of it comes back."""
    source, target = os.pipe()
    with warnings.catch_warnings():  # other threads are no part of the copy, which needs none
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        try:
            os.close(source)
            with open(target, "wb") as handle:
                handle.write(_call(call))
        finally:
            os._exit(0)
    os.close(target)
    try:
        with open(source, "rb") as handle:
            content = handle.read(MEMORY)
    except BaseException:
        os.kill(child, SIGKILL)
        raise
    finally:
        _, status = os.waitpid(child, 0)
    if not content:
        late = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (SIGXCPU, SIGKILL)
        raise ExceededError(f"takes more than {SECONDS} seconds" if late else "ends its process")
    outcome = pickle.loads(content)
    if isinstance(outcome, PolyprobeError | ExceededError):
        raise outcome
    return outcome  # type: ignore[no-any-return]


def _call(call: Callable[[], object]) -> bytes:
    with suppress(OSError):  # elsewhere than on Linux memory has no limit
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    try:
        return pickle.dumps(call())
    except PolyprobeError as error:
        return pickle.dumps(error)
    except MemoryError:
        return pickle.dumps(ExceededError(f"takes more than {MEMORY >> 30} GB"))
    except RecursionError as error:
        return pickle.dumps(ExceededError(f"is nested too deeply ({one_line(error)})"))
