"""Who scores a run's tasks, and where the scores are kept."""

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

OWN = ".store"  # in a run folder whose scores are not to be kept elsewhere


class WorkerChoices(TypedDict, total=False):
    """Who does the work.

    Attributes:
        devices: how many processes of this machine score, each with a device of its own.
        ray: the address of a Ray cluster, or `auto`.
        cache: whether scores are taken from the cache of all runs and kept there; if not, they
            stay in the run folder until the run is done.
    """

    devices: int
    ray: str | None
    cache: bool


@dataclass(frozen=True)
class Who:
    """The choices, see `WorkerChoices`."""

    devices: int = 1
    ray: str | None = None
    cache: bool = True


def take_workers(options: dict[str, Any]) -> Who:
    """Take the choices out of keywords.

    Raises:
        PolyprobeError: choices that exclude one another.
    """
    names = [field.name for field in fields(Who)]
    who = Who(**{name: options.pop(name) for name in names if name in options})
    if who.devices < 1:
        raise PolyprobeError(f"--devices must be at least 1, got {who.devices}")
    many = "--ray" if who.ray else "--devices" if who.devices > 1 else None
    if who.ray and who.devices > 1:
        raise PolyprobeError("--devices and --ray were both given; choose one")
    if many and options.get("scoring") == FREE:
        raise PolyprobeError(f"--scoring {FREE} decodes in one process; leave {many} out")
    return who


def choose_workers(who: Who, model: str, options: Mapping[str, Any], loaded: Loaded) -> Workers:
    """Return who scores; workers elsewhere load the very same model, with the same budget."""
    scorer = loaded.scorer
    if who.devices == 1 and not who.ray:
        return partial(score_here, scorer)
    same = {
        **options,
        "batch_tokens": scorer.engine.batch_tokens,
        "device": scorer.model.device.type,
        "expected": {"revision": loaded.revision, "path": scorer.path},
    }
    if not is_hash(loaded.revision):
        same["revision"] = loaded.revision

    if who.ray:
        address = who.ray
        return lambda tasks, report: score_on_ray(model, same, tasks, address, report)
    return lambda tasks, report: score_in_processes(model, same, tasks, who.devices, report)


def forget_own(run: Run) -> None:
    """Remove the store in the run's own folder: the run's files have all of it."""
    shutil.rmtree(run.folder / OWN, ignore_errors=True)


def open_store(run: Run, who: Who) -> ScoreStore:
    """Return the store of a run's model: the cache of all runs, or a folder in the run's own."""
    settings = run.settings()
    own = run.folder / OWN
    if who.cache and not own.exists():  # a run that was begun without goes on with what it has
        return ScoreStore(cache_folder(), settings.identity, settings.model_name)
    return ScoreStore(own, settings.identity, remedy="choose another --output")
