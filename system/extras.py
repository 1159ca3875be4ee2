"""Optional packages: which extra of polyprobe installs a missing one."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from .errors import PolyprobeError

EXTRAS = {
    "adapters": "peft",
    "builder": "babel polars pooch requests",
    "eval": "accelerate gguf psutil safetensors sentencepiece tokenizers torch transformers",
    "figures": "vl_convert",
    "quantized": "bitsandbytes",
    "ray": "ray",
    "sentences": "googletrans langcodes pymorphy3 rapidfuzz sacrebleu simplemma stanza",
    "served": "aiolimiter anyio httpx tenacity",
    "typology": "lang2vec",
}
PACKAGES = {package: extra for extra, names in EXTRAS.items() for package in names.split()}


def missing(purpose: str, package: str) -> PolyprobeError:
    """Make the one-line error for a missing package."""
    extra = PACKAGES.get(package)
    requirement = f"'polyprobe[{extra}]'" if extra else package
    return PolyprobeError(f"{purpose} needs the package {package}: pip install {requirement}")


def require(purpose: str, package: str) -> None:
    """Refuse what needs a package that is not installed, without an import of it."""
    if find_spec(package) is None:
        raise missing(purpose, package)


@contextmanager
def explain_missing_extras(purpose: str, any_package: bool = False) -> Iterator[None]:
    """Turn a ModuleNotFoundError for a package of an extra, or `any_package`, into one line."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in PACKAGES and not any_package:
            raise
        raise missing(purpose, package) from error
