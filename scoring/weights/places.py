"""Where a model's or adapter's files are, and their exact revision."""

import os
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple, Self

from huggingface_hub import hf_hub_download
from huggingface_hub.errors import EntryNotFoundError

from polyprobe.scoring.options import ADAPTER, EMBEDDED, check_model
from polyprobe.system.errors import PolyprobeError, one_line
from polyprobe.system.hashing import HASH, hash_model


class Place(NamedTuple):
    """A folder, one file in it, or a repository on the Hub.

    Attributes:
        name: how the user named it, for messages.
        path: the folder, or the id on the Hub.
        revision: branch, tag or commit; None for a folder and for the default branch.
        gguf: the GGUF file in the folder.
    """

    name: str
    path: str
    revision: str | None = None
    gguf: str | None = None

    @property
    def local(self) -> bool:
        """Return whether it is a folder."""
        return os.path.isdir(self.path)

    @property
    def label(self) -> str:
        """Return the name for signatures: an id on the Hub, or the last part of a path."""
        return Path(self.path).name if self.local else self.path

    @property
    def options(self) -> dict[str, str]:
        """Return the keywords of `from_pretrained`."""
        options = {"revision": self.revision, "gguf_file": self.gguf}
        return {name: value for name, value in options.items() if value}

    @property
    def is_adapter(self) -> bool:
        """Return whether it holds an adapter, which transformers would load unseen."""
        return self.gguf is None and self.file(ADAPTER) is not None

    def file(self, name: str) -> Path | None:
        """Return the path of one of its files, downloaded if it is on the Hub; None without it.

        Raises:
            PolyprobeError: no such repository or revision, or no permission.
        """
        if self.local:
            path = Path(self.path) / name
            return path if path.is_file() else None
        try:
            return Path(hf_hub_download(self.path, name, revision=self.revision))
        except EntryNotFoundError:  # also of a cache without the file and without a network
            return None
        except Exception as error:
            raise cannot_load(self.name, error) from error

    def pin(self, name: str = "config.json") -> Self:
        """Return the same with the commit in which it has this file, if it is on the Hub."""
        # The cache of the Hub has a folder for each commit.
        path = None if self.local else self.file(name)
        return self._replace(revision=path.parent.name) if path else self

    def exact_revision(self) -> str:
        """Return a hash of a folder's files, or the commit of a pinned repository."""
        if self.local:
            return HASH + hash_model(Path(self.path), self.gguf)
        return self.revision or ""


def find_place(model: str, revision: str | None) -> Place:
    """Find a model or an adapter.

    Raises:
        PolyprobeError: a file that is not GGUF, or several GGUF files.
    """
    path = Path(model)
    if model.endswith(".gguf"):
        if not path.is_file():
            raise PolyprobeError(f"no such GGUF file: {model}")
        return Place(model, str(path.resolve().parent), gguf=path.name)
    if path.is_file():
        raise PolyprobeError(f"{model} is a file, but not .gguf; give a folder or a GGUF file")
    if path.is_dir():
        return Place(model, str(path.resolve()), gguf=_find_gguf(path))
    if model in EMBEDDED:
        return Place(model, str(files("polyprobe.scoring.embedded") / model))
    check_model(model)
    return Place(model, model, revision)


def _find_gguf(folder: Path) -> str | None:
    """Return the GGUF file of a folder with nothing else to load.

    Raises:
        PolyprobeError: several GGUF files.
    """
    if any((folder / name).exists() for name in ("config.json", ADAPTER)):
        return None
    names = sorted(file.name for file in folder.glob("*.gguf"))
    if len(names) > 1:
        raise PolyprobeError(f"{folder} has {len(names)} GGUF files; give one: {', '.join(names)}")
    return names[0] if names else None


def cannot_load(model: str, error: Exception) -> PolyprobeError:
    """Return the one-line error for a model, or a part of it, that cannot be loaded."""
    text = one_line(error)
    if "trust_remote_code" in str(error):
        return PolyprobeError(
            f"model '{model}' has its own code (auto_map in its config.json), which is not run "
            "unless you add --trust-remote-code; read its .py files first"
        )
    if not isinstance(error, OSError | ValueError):
        text = f"{type(error).__name__}: {text}"
    if os.path.isdir(model) or model.endswith(".gguf"):
        return PolyprobeError(f"cannot load the model in {model}: {text}")
    return PolyprobeError(
        f"unknown model '{model}', or the Hub cannot be reached; give an id that the Hub or the "
        "local cache has (HF_HUB_OFFLINE=1 uses only the cache), a local folder, or a GGUF file "
        f"({text})"
    )
