"""Which files are LFS's: the `.gitattributes` that a new repository begins with."""

from fnmatch import fnmatch

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
