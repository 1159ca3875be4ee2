"""Join a Ray cluster, or start a temporary one on this machine."""

import logging
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from polyprobe.system.errors import PolyprobeError, one_line

ANSWER_SECONDS = 5.0
STORE_BYTES = 100 * 2**20  # tasks and scores are small, and so may be /dev/shm
# Ray adds about 60 characters for its sockets, whose paths have at most 107.
LONGEST_FOLDER = 40


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Yield the module `ray` while this process is in the cluster at the address.

    An existing connection of this process is used and kept; a new one is closed at the end.

    Args:
        address: HOST:PORT of a cluster's head node; `auto`: the cluster in RAY_ADDRESS, else the
            last one started on this machine (`ray start`), else a temporary one; `local`: a
            temporary one.

    Raises:
        PolyprobeError: Ray is not installed, or no cluster can be reached.
    """
    ray = _import_ray()
    if ray.is_initialized():
        _check_same(address, ray.get_runtime_context().gcs_address)
        yield ray
        return
    found = _find_cluster(address)
    start = _join(ray, found) if found else _start_local(ray)
    with start:
        try:
            yield ray
        finally:
            ray.shutdown()


def _import_ray() -> Any:
    try:
        import ray  # an extra
    except ImportError as error:
        raise PolyprobeError(
            f"--ray needs Ray, which cannot be imported ({one_line(error)}); "
            "pip install 'polyprobe[ray]'"
        ) from error
    return ray


def _check_same(address: str, present: str) -> None:
    if address not in ("auto", present):
        raise PolyprobeError(
            f"this process is already in the Ray cluster at {present}, not {address}; "
            "use auto, or call ray.shutdown() first"
        )


def _find_cluster(address: str) -> str | None:
    """Return the address of a cluster that answers, None to start one.

    `ray.init` waits for minutes for a cluster that does not exist, and so does its `auto` for a
    cluster that was killed.
    """
    if address == "local":
        return None
    if address == "auto" and not (address := os.environ.get("RAY_ADDRESS", "")):
        return next(filter(_answers, _last_started()), None)
    if not _answers(address):
        raise PolyprobeError(
            f"no Ray cluster answers at '{address}'; expected HOST:PORT of its head node, as "
            "printed by `ray start --head`; start a cluster, or use --ray auto"
        )
    return address


def _last_started() -> Iterator[str]:
    """Yield the addresses that `ray start` has written to its folders."""
    for folder in (os.environ.get("RAY_TMPDIR"), os.environ.get("TMPDIR"), "/tmp"):
        note = Path(folder or "/tmp") / "ray" / "ray_current_cluster"
        with suppress(OSError):
            yield note.read_text().strip()


def _answers(address: str) -> bool:
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS):
            return True
    except (OSError, ValueError, OverflowError):
        return False


@contextmanager
def _join(ray: Any, address: str) -> Iterator[None]:
    _init(ray, address)
    yield


@contextmanager
def _start_local(ray: Any) -> Iterator[None]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    above = tempfile.gettempdir() if len(tempfile.gettempdir()) < LONGEST_FOLDER else "/tmp"
    with TemporaryDirectory(prefix="pp-", dir=above, ignore_cleanup_errors=True) as folder:
        own = {"include_dashboard": False, "object_store_memory": STORE_BYTES, "_temp_dir": folder}
        _init(ray, "local", **own)
        yield


def _init(ray: Any, address: str, **options: Any) -> None:
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **options)
    except Exception as error:
        ray.shutdown()
        raise PolyprobeError(
            f"cannot join the Ray cluster at '{address}' ({one_line(error)}); this machine must be "
            "one of its nodes (`ray start --address=HOST:PORT`), with the same Ray and Python"
        ) from error
