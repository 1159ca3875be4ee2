"""The settings of a run: what its scores depend on, and its signature."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self, get_type_hints

from polyprobe.schema.run.protocol import protocol_of
from polyprobe.schema.run.shapes import CHAT, as_shape, find_wrong_shape
from polyprobe.system.files import HASH, is_hash
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.text import clean, clean_field

# Increase when scores change for the same model and query.
FORMAT = "2"
# Increase when a figure of the same scores changes: 2 has the centred RankC as the headline.
DEFINITION = 2
# What a later call may change, besides adding languages.
_CHANGEABLE = {"batch_tokens", "parameters", "languages", "fingerprint"}


def versions() -> dict[str, str]:
    """List the versions of the packages that the scores of every model depend on."""
    return {name: version(name) for name in ("polyprobe", "torch", "transformers")}


def _short(name: str) -> str:
    """Cut a path to its last part; names and ids on the Hub are unchanged."""
    return clean(Path(name).name if Path(name).is_absolute() or name.startswith(".") else name)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The identity of a run; runs with equal settings have equal scores.

    Languages can be added later, and the token budget, which changes scores only by rounding, can
    be changed; every other field is fixed once the first score is written.
    """

    model: str
    revision: str = "unknown"
    dataset: str
    config: str | None
    fingerprint: dict[str, str]  # hash of each language's split
    languages: list[str]
    limit: int | None
    sample: int | None
    scoring: str
    bos: str | None = "unknown"
    dtype: str = "unknown"
    device: str = "unknown"
    attention: str = "unknown"
    path: str = "unknown"  # the engine's strategy
    batch_tokens: int | None = None
    donor: bool = False  # whether each fact has a second question about another subject
    # The choice of rows from which `limit` and `sample` take theirs; None: all relations.
    relations: list[str] | None = None
    exclude: list[str] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)  # other rows, by reason
    # What else the scores depend on, by its name in the signature: an adapter, say.
    further: dict[str, str] = field(default_factory=dict)
    # Log-probabilities by which a served model is recognised.
    probe: list[float] = field(default_factory=list)
    chat: dict[str, Any] | None = None  # in front of each sentence, see `Chat`
    prompt_probability: bool = False  # whether those of the prompts are stored too
    parameters: int | None = None  # number of the model's; None: served
    versions: dict[str, str] = field(default_factory=versions)

    @property
    def model_name(self) -> str:
        """The model's id, or the last part of its path."""
        return _short(self.model)

    @property
    def data_name(self) -> str:
        """Dataset and configuration; a path is shortened to its last part."""
        return f"{_short(self.dataset)}/{self.config or 'default'}"

    @property
    def kind(self) -> str:
        """The kind of the run's files: `scores` of candidates, or free `predictions`."""
        return protocol_of(self.scoring).kind

    @property
    def scoring_name(self) -> str:
        """The name of the scoring, and the conversation's hash in a chat."""
        return f"{self.scoring}, chat {self.further['chat']}" if self.chat else self.scoring

    @property
    def signature(self) -> str:
        """All that the figures depend on in one line, like sacreBLEU's signature."""
        rows = f"sample={self.sample}" if self.sample else f"limit={self.limit or 'none'}"
        choice = {"relations": self.relations, "exclude": self.exclude}
        parts = {
            "model": f"{self.model_name}@{self.revision[:19]}",
            "data": self.data_name,
            "languages": "+".join(f"{x}@{self.fingerprint[x][:6]}" for x in self.languages),
            "rows": rows,
            **{name: "+".join(names) for name, names in choice.items() if names},
            "donor": "subject" if self.donor else "none",
            **self._way,
        }
        text = "|".join(f"{key}:{clean_field(value)}" for key, value in parts.items())
        return re.sub(rf"({HASH}\w{{12}})\w+", r"\1", text)

    @property
    def identity(self) -> dict[str, str]:
        """All that a score depends on except its query, for the score store."""
        return {
            # a model in a folder is identified by the hash of its files, not by its path
            "model": "" if is_hash(self.revision) else self.model,
            "revision": self.revision,
            **self._way,
            "tokenizers": version("tokenizers"),
            "format": FORMAT,
        }

    @property
    def _way(self) -> dict[str, str]:
        return {
            "scoring": self.scoring,
            "bos": self.bos or "tokenizer",
            "dtype": self.dtype,
            "device": self.device,
            "attention": self.attention,
            "path": self.path,
            **self.further,
            **self.versions,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Make the settings of run.json; ValueError for other ones, or impossible values."""
        names = {part.name for part in fields(cls)}
        if different := sorted(names ^ values.keys()):
            raise ValueError(f"{different[0]} is {'missing' if different[0] in names else 'new'}")
        shape = {name: as_shape(hint) for name, hint in get_type_hints(cls).items()}
        if fault := find_wrong_shape(values, shape | {"chat": CHAT}):
            raise ValueError(fault)
        settings = cls(**values)
        for name in settings.languages or [""]:
            if not re.fullmatch(r"[\w-]+", name):
                raise ValueError(f"{name!r} is no language")
        if sorted(settings.languages) != sorted(settings.fingerprint):
            raise ValueError("languages and fingerprint do not agree")
        if settings.chat and "chat" not in settings.further:
            raise ValueError("further.chat is missing")
        protocol_of(settings.scoring)
        return settings

    def resume(self, later: "Settings", folder: object) -> "Settings":
        """Add the languages of an earlier call to the settings of a later one; else both equal."""
        languages = list(dict.fromkeys([*self.languages, *later.languages]))
        prints = {**later.fingerprint, **self.fingerprint}
        union = {language: prints[language] for language in languages}
        union_settings = replace(later, languages=languages, fingerprint=union)
        before, values = self._flatten(), union_settings._flatten()
        for name in {**before, **values}:
            was, now = before.get(name), values.get(name)
            if now != was and name not in _CHANGEABLE:
                raise PolyprobeError(
                    f"{folder} holds another run ({name}: {was!r}, asked for {now!r}); "
                    "choose another --output"
                )
        for language in later.languages:
            if union[language] != later.fingerprint[language]:
                raise PolyprobeError(
                    f"{folder} was scored on other data: the split '{language}' has changed since; "
                    "choose another --output"
                )
        return union_settings

    def _flatten(self) -> dict[str, Any]:
        """List the settings by name, those of `further` among them."""
        return {**asdict(replace(self, further={})), **self.further}
