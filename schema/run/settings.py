"""The settings of a run: what its scores depend on, and its signature."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from polyprobe.schema.run.protocol import protocol_of
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.hashing import HASH, is_hash

# Increase when scores change for the same model and query.
FORMAT = "1"


def versions() -> dict[str, str]:
    """Return the versions of the packages that the scores of every model depend on."""
    return {name: version(name) for name in ("polyprobe", "torch", "transformers")}


def _short(name: str) -> str:
    """Return the last part of a path; names and ids on the Hub are unchanged."""
    return Path(name).name if Path(name).is_absolute() or name.startswith(".") else name


@dataclass(frozen=True)
class Settings:
    """The identity of a run; runs with equal settings have equal scores.

    `fingerprint` has a hash of each language's split; `path` is the engine's strategy. Languages
    can be added later, and the token budget, which changes scores only by rounding, can be changed;
    every other field is fixed once the first score is written. `donor` says whether each fact has a
    second question about another subject. `relations` (None: all) and `exclude` are the choice of
    rows from which `limit` and `sample` take theirs; `left_out` counts the others by reason.
    `further` has what else the scores depend on, by its name in the signature: an adapter, say.
    `probe` are log-probabilities by which a served model is recognised.
    `chat` is the conversation in front of each sentence, see `Chat`. `prompt_probability` says
    whether the log-probabilities of the prompts are stored too. `parameters` is the number of the
    model's parameters, None for a served model.
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
    attention: str = "unknown"
    path: str = "unknown"
    batch_tokens: int | None = None
    donor: bool = False
    relations: list[str] | None = None
    exclude: list[str] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    further: dict[str, str] = field(default_factory=dict)
    probe: list[float] = field(default_factory=list)
    chat: dict[str, Any] | None = None
    prompt_probability: bool = False
    parameters: int | None = None
    versions: dict[str, str] = field(default_factory=versions)

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
    def scoring_name(self) -> str:
        """Return the name of the scoring, and the conversation's hash in a chat."""
        return f"{self.scoring}, chat {self.further['chat']}" if self.chat else self.scoring

    @property
    def signature(self) -> str:
        """Return all that the figures depend on in one line, like sacreBLEU's signature."""
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
        text = "|".join(f"{key}:{value}" for key, value in parts.items())
        return re.sub(rf"({HASH}\w{{12}})\w+", r"\1", text)

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
            **self.further,
            **self.versions,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the settings of run.json.

        Raises:
            ValueError: other settings than this version has, or impossible values.
        """
        names = {part.name for part in fields(cls)}
        if different := sorted(names ^ values.keys()):
            raise ValueError(f"{different[0]} is {'missing' if different[0] in names else 'new'}")
        settings = cls(**values)
        if not settings.languages or not all(
            isinstance(text, str) for text in (settings.model, settings.scoring)
        ):
            raise ValueError("languages, model and scoring are needed")
        if {*settings.languages} != {*settings.fingerprint}:
            raise ValueError("languages and fingerprint do not agree")
        return settings

    def resume(self, later: "Settings", folder: object) -> "Settings":
        """Return the settings of a later call with the languages of both; all else must be equal.

        Raises:
            PolyprobeError: other settings, or rows that have changed since.
        """
        languages = list(dict.fromkeys([*self.languages, *later.languages]))
        prints = {**later.fingerprint, **self.fingerprint}
        union = {language: prints[language] for language in languages}
        union_settings = replace(later, languages=languages, fingerprint=union)
        before = replace(
            self,
            languages=languages,
            fingerprint=union,
            batch_tokens=later.batch_tokens,
            parameters=later.parameters,
        )
        earlier_values, values = before._flatten(), union_settings._flatten()
        for name in {**earlier_values, **values}:
            was, now = earlier_values.get(name), values.get(name)
            if now != was:
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
        """Return the settings by name, those of `further` among them."""
        return {**asdict(replace(self, further={})), **self.further}
