"""Contents of files: their ids, which are LFS's, and what the Hub reads from a card."""

import hashlib
import re
from collections.abc import Mapping
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

DATE = "2026-01-01T00:00:00.000Z"


class Blob(NamedTuple):
    """A content: its path, git blob id, SHA-256, size, and whether it is a file of LFS."""

    file: Path
    git_oid: str
    sha256: str
    size: int
    lfs: bool

    @property
    def pointer(self) -> bytes:
        return (
            "version https://git-lfs.github.com/spec/v1\n"
            f"oid sha256:{self.sha256}\nsize {self.size}\n"
        ).encode()

    @property
    def oid(self) -> str:
        """Return the id of the content in git: the file, or an LFS file's pointer."""
        return git_oid(self.pointer) if self.lfs else self.git_oid

    @property
    def etag(self) -> str:
        """Return the id sent by the Hub: the SHA-256 of an LFS file, else the git blob id."""
        return self.sha256 if self.lfs else self.git_oid


class Store(NamedTuple):
    folder: Path

    def keep(self, content: bytes, lfs: bool) -> Blob:
        sha256 = hashlib.sha256(content).hexdigest()
        file = self.folder / sha256
        if not file.exists():
            file.write_bytes(content)
        return Blob(file, git_oid(content), sha256, len(content), lfs)


def git_oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@cache
def read_blob(file: Path, modified: int, size: int, lfs: bool) -> Blob:
    content = file.read_bytes()
    return Blob(file, git_oid(content), hashlib.sha256(content).hexdigest(), size, lfs)


LIMIT = 10 * 2**20  # bytes: a larger file is LFS's whatever its name
LFS_SUFFIXES = """
.7z .arrow .bin .bz2 .ckpt .ftz .gguf .gz .h5 .joblib .mlmodel .model .msgpack .npy .npz .onnx .ot
.parquet .pb .pickle .pkl .pt .pth .rar .safetensors .tar .tflite .tgz .wasm .xz .zip .zst
"""
DATASET_SUFFIXES = """
.flac .gif .jpeg .jpg .lz4 .mds .mp3 .mp4 .ogg .pcm .png .tiff .wav .webp
"""


def write_attributes(kind: str) -> str:
    """Return the first `.gitattributes` of a repository: a line for each LFS suffix."""
    suffixes = LFS_SUFFIXES + (DATASET_SUFFIXES if kind == "dataset" else "")
    lines = [f"*{each} filter=lfs diff=lfs merge=lfs -text" for each in sorted(suffixes.split())]
    return "\n".join(lines) + "\n"


def is_lfs(path: str, size: int, attributes: str) -> bool:
    """Tell whether a file is LFS's, by its size or by the lines of the `.gitattributes`.

    >>> is_lfs("data/a.parquet", 9, write_attributes("model")), is_lfs("README.md", 9, "")
    (True, False)
    """
    patterns = [line.split()[0] for line in attributes.splitlines() if "filter=lfs" in line]
    name = path.rpartition("/")[2]
    return size > LIMIT or any(fnmatch(name, each) or fnmatch(path, each) for each in patterns)


LICENSES = """
apache-2.0 cc cc-by-4.0 cc-by-nc-4.0 cc-by-nc-sa-4.0 cc-by-nd-4.0 cc-by-sa-4.0 cc0-1.0 gpl-3.0 mit
other unknown
"""  # some of huggingface.co/docs/hub/repositories-licenses
BLOCK = re.compile(r"\A\s*---[\r\n]+(.*?)[\r\n]+---(?:[\r\n]|\Z)", re.DOTALL)


def check_card(text: str) -> list[str]:
    block = BLOCK.match(text)
    try:
        values = yaml.safe_load(block[1]) if block else {}
    except yaml.YAMLError as error:
        return [f"Invalid YAML: {' '.join(str(error).split())}"]
    if not isinstance(values, dict):
        return ["metadata must be an object"]
    licenses = values.get("license") or []
    unlisted = {*([licenses] if isinstance(licenses, str) else licenses)} - {*LICENSES.split()}
    return [f'"license" must be one of [{", ".join(LICENSES.split())}]'] if unlisted else []


def read_card(files: Mapping[str, Blob]) -> dict[str, Any]:
    text = files["README.md"].file.read_text(encoding="utf-8") if "README.md" in files else ""
    block = None if check_card(text) else BLOCK.match(text)
    return yaml.safe_load(block[1]) if block else {}


def list_messages(errors: list[str]) -> dict[str, list[dict[str, str]]]:
    return {"errors": [{"message": each} for each in errors], "warnings": []}
