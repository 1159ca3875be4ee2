"""Debian's apertium-apy on a free port of this machine, for the tests."""

import os
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.making.waiting import PATIENCE

PROGRAM, DATA = "apertium-apy", Path("/usr/share/apertium")
PACKAGES = ("apertium-apy", "apertium-eng-spa", "apertium-eng-cat", "apertium-en-gl")
MODES = ("eng-spa", "eng-cat", "en-gl")


def find_missing():
    """Return why the engine cannot be used here, '' where it can."""
    if shutil.which(PROGRAM) and all((DATA / "modes" / f"{mode}.mode").exists() for mode in MODES):
        return ""
    return f"needs Debian's apertium: apt-get install {' '.join(PACKAGES)}"


needs_apertium = pytest.mark.usefixtures("apertium")


def find_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def start_apy(port=None):
    """Yield the address of a running service; stop it and its engines at the end."""
    port = port or find_port()
    command = [PROGRAM, "-p", str(port), str(DATA)]
    # a new process group, which includes the engines it starts
    service = subprocess.Popen(
        command, env={**os.environ, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        yield wait_for(service, f"http://127.0.0.1:{port}")
    finally:
        os.killpg(service.pid, 15)
        service.wait(PATIENCE)


def wait_for(service, address):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and service.poll() is None:
        try:
            httpx.get(f"{address}/listPairs", timeout=5).raise_for_status()
        except httpx.HTTPError:
            time.sleep(0.05)
        else:
            return address
    raise RuntimeError(f"{PROGRAM} did not start at {address}")
