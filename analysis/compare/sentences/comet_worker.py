"""Score translations with COMET, in another Python with unbabel-comet.

Standard input: JSON lines {"src": …, "mt": …}. Standard output: one JSON object, {"scores": […],
"comet": version} or {"error": stage, "detail": one line}; a stage is `import`, `model`,
`references` or `predict`. The file imports nothing of polyprobe and runs in Python 3.8.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def _score(samples: list[dict[str, str]], name: str, stages: list[str]) -> dict[str, Any]:
    """Score samples by a model on the Hub or a checkpoint; `stages` grows by those that begin."""
    stages.append("import")
    import comet

    stages.append("model")
    model = comet.load_from_checkpoint(name if os.path.exists(name) else comet.download_model(name))
    if model.requires_references():
        stages.append("references")
        raise ValueError("it needs references")
    torch = sys.modules.get("torch")  # which comet has imported
    gpus = int(torch is not None and torch.cuda.is_available())
    stages.append("predict")
    scores = model.predict(samples, batch_size=16, gpus=gpus, progress_bar=False).scores
    version = str(getattr(comet, "__version__", "unknown"))
    return {"scores": [float(value) for value in scores], "comet": version}


def main() -> int:
    """Read, score, write; output of libraries goes to standard error."""
    folder = os.path.dirname(os.path.abspath(__file__))
    # otherwise `import evaluate` in a library could find files of this folder
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != folder]
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    samples = [json.loads(line) for line in sys.stdin.buffer.read().decode("utf-8").splitlines()]
    stages: list[str] = []
    try:
        answer = _score(samples, sys.argv[1], stages)
    except (Exception, SystemExit) as error:  # a library may also exit
        line = " ".join(str(error).split("\n")[0].split())[:2000] or type(error).__name__
        answer = {"error": stages[-1], "detail": line}
    with output:
        json.dump(answer, output)
    return int("error" in answer)


if __name__ == "__main__":
    sys.exit(main())
