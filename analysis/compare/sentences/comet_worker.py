"""Score translations with COMET, in another Python with unbabel-comet.

Standard input: JSON lines {"src": …, "mt": …}. Standard output: one JSON object, {"scores": […],
"comet": version} or {"error": stage, "detail": one line}. The file imports nothing of polyprobe and
runs in Python 3.8.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from typing import Any


class StageError(Exception):
    """The failed stage (`import`, `model`, `references` or `predict`) and one line of detail."""

    def __init__(self, stage: str, error: object) -> None:
        lines = str(error).split("\n")
        super().__init__(stage, " ".join(lines[0].split())[:200] or type(error).__name__)


@contextlib.contextmanager
def stage(name: str) -> Iterator[None]:
    """Turn any exception, also a library's exit, into a StageError."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise StageError(name, error) from error


def score(samples: list[dict[str, str]], name: str) -> dict[str, Any]:
    """Return {"scores": …, "comet": …} of the samples by a model on the Hub or a checkpoint."""
    with stage("import"):
        import comet
    with stage("model"):
        model = comet.load_from_checkpoint(
            name if os.path.exists(name) else comet.download_model(name)
        )
    if model.requires_references():
        raise StageError("references", "it needs references")
    torch = sys.modules.get("torch")  # which comet has imported
    gpus = int(torch is not None and torch.cuda.is_available())
    with stage("predict"):
        scores = model.predict(samples, batch_size=16, gpus=gpus, progress_bar=False).scores
        scores = [float(value) for value in scores]
    return {"scores": scores, "comet": str(getattr(comet, "__version__", "unknown"))}


def main() -> int:
    """Read, score, write; output of libraries goes to standard error."""
    own = os.path.dirname(os.path.abspath(__file__))
    # otherwise `import evaluate` in a library could find files of this folder
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != own]
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    samples = [json.loads(line) for line in sys.stdin.buffer.read().decode("utf-8").splitlines()]
    try:
        found = score(samples, sys.argv[1])
    except StageError as error:
        found = {"error": error.args[0], "detail": error.args[1]}
    with answer:
        json.dump(found, answer)
    return int("error" in found)


if __name__ == "__main__":
    sys.exit(main())
