"""What runs on the nodes of a Ray cluster: an actor that holds a model and scores tasks."""

from collections.abc import Mapping
from importlib.metadata import version
from platform import node
from threading import Lock
from typing import Any

import torch

from polyprobe.eval.scoring.load import load_again
from polyprobe.eval.scoring.scorers import Scored, Scorer
from polyprobe.eval.work.tasks import Task
from polyprobe.system.errors import PolyprobeError

from .local import naming_language


def versions() -> dict[str, str]:
    """Return what must be the same on all nodes for scores to be the same."""
    return {name: version(name) for name in ("polyprobe", "torch", "transformers")}


class RayWorker:
    """Holds a model, loaded once, and scores one task while it prepares another.

    Its methods run in two threads; nothing can go wrong in its constructor, since Ray tells less
    of what is raised there.
    """

    scorer: Scorer

    def __init__(self) -> None:
        self.preparing, self.scoring = Lock(), Lock()

    def place(self) -> str:
        """Return the name of this worker's node: it is there."""
        return node()

    def load(
        self, model: str, options: Mapping[str, Any], threads: int, expected: Mapping[str, str]
    ) -> None:
        """Load the model, to be run in so many threads.

        Raises:
            PolyprobeError: what is wrong with the model, or software of another version than
                expected.
        """
        for name, found in versions().items():
            if found != expected[name]:
                raise PolyprobeError(
                    f"node {node()} of the Ray cluster has {name} {found}, here it is "
                    f"{expected[name]}; install the same version on all nodes"
                )
        torch.set_num_threads(threads)
        try:
            self.scorer = load_again(model, **options)
        except PolyprobeError as error:
            raise PolyprobeError(f"on node {node()} of the Ray cluster: {error}") from error

    def score(self, task: Task) -> tuple[Scored, int]:
        """Return a task's scores, and of how many inputs they were made.

        Raises:
            PolyprobeError: a task that cannot be scored; the message begins with its language.
        """
        total = 0

        def count(done: int, inputs: int) -> None:
            nonlocal total
            total = inputs

        with naming_language(task):
            with self.preparing:
                prepared = self.scorer.prepare(task.prompts, task.candidates)
            with self.scoring:
                return self.scorer.score_prepared(prepared, count), total
