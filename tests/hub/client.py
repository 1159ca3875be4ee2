"""Run Python code as a user would: a separate process with a given cache and Hub."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# evaluate imports transformers' pipelines if available, which takes five seconds.
EVALUATE = """
import sys
sys.modules["transformers"] = None
import evaluate
del sys.modules["transformers"]
"""
ANSWER = """
import json, os
print("\\n" + json.dumps(answer), flush=True)
os._exit(0)
"""
POLYPROBE = [  # the command, in this Python
    sys.executable,
    "-c",
    "import sys; from polyprobe.__main__ import launch; sys.argv[0] = 'polyprobe'; launch()",
]
NOWHERE = "http://127.0.0.1:9"  # the discard port, without a server: refused immediately


def environment(
    home: Path,
    endpoint: str = NOWHERE,
    *,
    offline: bool = False,
    variables: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the variables of a process with one Hub and one cache, without proxies.

    The clients read them once, at import; therefore every test of a client has its own process.
    Without `HF_UPDATE_DOWNLOAD_COUNTS=0` evaluate calls a server of Amazon before every load.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith("HF_")}
    kept = {k: v for k, v in kept.items() if not k.lower().endswith("_proxy")}
    ours = {
        "HOME": str(home),
        "HF_HOME": str(home / "huggingface"),
        "HF_ENDPOINT": endpoint,
        "HF_UPDATE_DOWNLOAD_COUNTS": "0",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_HUB_DISABLE_XET": "1",
        "XDG_CACHE_HOME": str(home / "cache"),
    }
    return kept | ours | ({"HF_HUB_OFFLINE": "1"} if offline else {}) | dict(variables or {})


def run_client(
    code: str,
    home: Path,
    endpoint: str = NOWHERE,
    *,
    offline: bool = False,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> Any:
    """Run `code`, which ends with `answer = …`, and return the answer (through JSON).

    It runs in `folder`, by default an empty one in `home`. If the process fails, the
    test fails with its output. The process ends without Python's teardown, in which a thread of
    Arrow that still reads may abort it (apache/arrow#45214, huggingface/datasets#7566).
    """
    folder = folder or home / "elsewhere"
    folder.mkdir(parents=True, exist_ok=True)
    program = f"{code}\n{ANSWER}"
    if "evaluate" in code:
        program = EVALUATE + program
    command = [sys.executable, "-c", program]
    result = run_process(command, home, endpoint, folder, offline=offline, variables=variables)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])


def run_polyprobe(
    *arguments: str,
    home: Path,
    folder: Path,
    endpoint: str = NOWHERE,
    offline: bool = False,
    variables: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the `polyprobe` command in a folder; the caller looks at status and output."""
    return run_process(
        [*POLYPROBE, *arguments], home, endpoint, folder, offline=offline, variables=variables
    )


def run_process(
    command: list[str],
    home: Path,
    endpoint: str,
    folder: Path,
    *,
    offline: bool,
    variables: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    home.mkdir(parents=True, exist_ok=True)
    told = environment(home, endpoint, offline=offline, variables=variables)
    return subprocess.run(
        command, cwd=folder, env=told, capture_output=True, text=True, timeout=300, check=False
    )
