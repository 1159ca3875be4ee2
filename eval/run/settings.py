"""The settings that identify a run."""

from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from polyprobe.eval.scoring.revision import is_hash

from .protocol import protocol_of

# To be raised when what a score is changes for the same model and query.
FORMAT = "1"


def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("polyprobe", "torch", "transformers")}


def _short(name: str) -> str:
    """Return the last part of a path, and a name or an id on the Hub as it is."""
    return Path(name).name if Path(name).is_absolute() or name.startswith(".") else name


@dataclass(frozen=True)
class Settings:
    """What identifies a run; two runs with equal settings give equal scores.

    `fingerprint` has a hash of each language's split, `path` says how the engine runs the model's
    inputs. Languages may be added to a run later; the token budget, which moves scores by rounding
    alone, may be changed; every other field is fixed once the first score is written.
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
    attention: str = "unknown"  # as are the next two of runs that older versions made
    path: str = "unknown"
    batch_tokens: int | None = None
    versions: dict[str, str] = field(default_factory=_versions)

    @property
    def model_name(self) -> str:
        """Return the model's id, or the last part of its path."""
        return _short(self.model)

    @property
    def data_name(self) -> str:
        """Return dataset and configuration, of a path its last part."""
        return f"{_short(self.dataset)}/{self.config or 'default'}"

    @property
    def kind(self) -> str:
        """Return what the run's files hold: `scores` of candidates, or free `predictions`."""
        return protocol_of(self.scoring).kind

    @property
    def signature(self) -> str:
        """Return everything that the figures depend on, in one line, in the manner of sacreBLEU."""
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
        """Return what a score depends on beside its query, for the score store.

        A model in a folder is known by the hash of its files, wherever it lies.
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
        """Return how the model is asked, whatever it is asked."""
        return {
            "scoring": self.scoring,
            "bos": self.bos or "tokenizer",
            "dtype": self.dtype,
            "device": self.device,
            "attention": self.attention,
            "path": self.path,
            **self.versions,
        }
