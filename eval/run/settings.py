"""The settings that identify a run."""

from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from polyprobe.eval.scoring.revision import is_hash

from .protocol import protocol_of

# Increase when scores change for the same model and query.
FORMAT = "1"


def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("polyprobe", "torch", "transformers")}


def _short(name: str) -> str:
    """Return the last part of a path; names and ids on the Hub are unchanged."""
    return Path(name).name if Path(name).is_absolute() or name.startswith(".") else name


@dataclass(frozen=True)
class Settings:
    """The identity of a run; runs with equal settings have equal scores.

    `fingerprint` has a hash of each language's split; `path` is the engine's strategy. Languages
    can be added later, and the token budget, which changes scores only by rounding, can be changed;
    every other field is fixed once the first score is written.
    """

    model: str
    revision: str
    dataset: str
    config: str | None
    fingerprint: dict[str, str]
    languages: list[str]
    limit: int | None
    sample: int | None
    scoring: str
    bos: str | None
    dtype: str
    device: str
    attention: str = "unknown"  # like the next two in runs of older versions
    path: str = "unknown"
    batch_tokens: int | None = None
    versions: dict[str, str] = field(default_factory=_versions)

    @property
    def model_name(self) -> str:
        """Return the model's id, or the last part of its path."""
        return _short(self.model)

    @property
    def data_name(self) -> str:
        """Return dataset and configuration; a path is shortened to its last part."""
        return f"{_short(self.dataset)}/{self.config or 'default'}"

    @property
    def kind(self) -> str:
        """Return the kind of the run's files: `scores` of candidates, or free `predictions`."""
        return protocol_of(self.scoring).kind

    @property
    def signature(self) -> str:
        """Return all that the figures depend on in one line, like sacreBLEU's signature."""
        rows = f"sample={self.sample}" if self.sample else f"limit={self.limit or 'none'}"
        parts = {
            "model": f"{self.model_name}@{self.revision[:19]}",
            "data": self.data_name,
            "languages": "+".join(f"{x}@{self.fingerprint[x][:6]}" for x in self.languages),
            "rows": rows,
            **self._way,
        }
        return "|".join(f"{key}:{value}" for key, value in parts.items())

    @property
    def identity(self) -> dict[str, str]:
        """Return all that a score depends on except its query, for the score store.

        A model in a folder is identified by the hash of its files, not by its path.
        """
        local = is_hash(self.revision)
        return {
            "model": "" if local else self.model,
            "revision": self.revision,
            **self._way,
            "tokenizers": version("tokenizers"),
            "format": FORMAT,
        }

    @property
    def _way(self) -> dict[str, str]:
        """Return the settings of loading and scoring."""
        return {
            "scoring": self.scoring,
            "bos": self.bos or "tokenizer",
            "dtype": self.dtype,
            "device": self.device,
            "attention": self.attention,
            "path": self.path,
            **self.versions,
        }
