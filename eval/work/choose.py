"""Choose the workers that score a run's tasks, and the store of its scores."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, TypedDict

from polyprobe.eval.run.folder import Run
from polyprobe.eval.scoring.decoding.options import SCORING as FREE
from polyprobe.eval.scoring.load import Loaded
from polyprobe.eval.scoring.revision import is_hash
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.store import cache_folder

from .fill import Workers
from .known_scores import ScoreStore
from .workers import score_here, score_in_processes, score_on_ray

OWN_STORE = ".store"  # in the folder of a run without the cache


class WorkerChoices(TypedDict, total=False):
    """Options of the workers and the score store.

    Attributes:
        devices: number of processes on this machine, each with its own device.
        ray: the address of a Ray cluster, or `auto`.
        cache: whether the run reads and fills the cache that all runs share; otherwise its scores
            are stored in the run folder until the run is complete.
    """

    devices: int
    ray: str | None
    cache: bool


@dataclass(frozen=True)
class WorkerSettings:
    """See `WorkerChoices`."""

    devices: int = 1
    ray: str | None = None
    cache: bool = True


def take_workers(options: dict[str, Any]) -> WorkerSettings:
    """Remove the worker options from keywords and return them.

    Raises:
        PolyprobeError: options that exclude each other.
    """
    names = [field.name for field in fields(WorkerSettings)]
    chosen = WorkerSettings(**{name: options.pop(name) for name in names if name in options})
    if chosen.devices < 1:
        raise PolyprobeError(f"--devices must be at least 1, got {chosen.devices}")
    many = "--ray" if chosen.ray else "--devices" if chosen.devices > 1 else None
    if chosen.ray and chosen.devices > 1:
        raise PolyprobeError("--devices and --ray were both given; choose one")
    if many and options.get("scoring") == FREE:
        raise PolyprobeError(f"--scoring {FREE} decodes in one process; leave {many} out")
    return chosen


def choose_workers(
    chosen: WorkerSettings, model: str, options: Mapping[str, Any], loaded: Loaded
) -> Workers:
    """Return the function that scores tasks.

    Workers in other processes load the same revision with the same token budget and path.
    """
    scorer = loaded.scorer
    if chosen.devices == 1 and not chosen.ray:
        return partial(score_here, scorer)
    same = {
        **options,
        "batch_tokens": scorer.engine.batch_tokens,
        "device": scorer.model.device.type,
        "expected": {"revision": loaded.revision, "path": scorer.path},
    }
    if not is_hash(loaded.revision):
        same["revision"] = loaded.revision
    if chosen.ray:
        address = chosen.ray
        return lambda tasks, report: score_on_ray(model, same, tasks, address, report)
    return lambda tasks, report: score_in_processes(model, same, tasks, chosen.devices, report)


def remove_own_store(run: Run) -> None:
    """Delete the store in the folder of a complete run, whose files hold all scores."""
    shutil.rmtree(run.folder / OWN_STORE, ignore_errors=True)


def open_store(run: Run, chosen: WorkerSettings) -> ScoreStore:
    """Return the score store of a run's model, in the cache or in the run folder."""
    settings = run.settings()
    own = run.folder / OWN_STORE
    if chosen.cache and not own.exists():  # a run started without the cache resumes without it
        return ScoreStore(cache_folder(), settings.identity, settings.model_name)
    return ScoreStore(own, settings.identity, remedy="choose another --output")
