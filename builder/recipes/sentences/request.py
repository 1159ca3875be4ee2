"""The request for a sentence version of a configuration."""

import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from polyprobe.builder.objects.lemmatizers import LEMMATIZERS
from polyprobe.schema.names import SENTENCE, parse_languages
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.options import Options, option, spell_options


def check_threshold(value: float) -> None:
    """Refuse a similarity outside 0 to 100."""
    if not 0 <= value <= 100:
        raise PolyprobeError(f"--threshold {value:g}: expected 0 to 100")


def check_folder_of_models(folder: str | Path) -> None:
    """Refuse a folder that does not exist."""
    if not Path(folder).is_dir():
        raise PolyprobeError(f"no folder {folder}; give --stanza one with Stanza's models")


@dataclass(frozen=True)
class SentenceRequest(Options):
    """A sentence version: its base configuration, its languages, and the search for objects."""

    dataset: str
    config: str
    translator: str
    languages: tuple[str, ...] = option(
        (), "Comma-separated language codes (default: all).", parse=parse_languages
    )
    lemmatizer: str = option(
        "auto",
        f"Lemmatizer that finds the object: {', '.join(LEMMATIZERS)} (auto: stanza if its models "
        "are present, else simplemma).",
        choices=LEMMATIZERS,
    )
    threshold: float = option(
        75.0,
        "How alike words of the translation and a form of the label must be to be taken for the "
        "object, 0 to 100: 100 is equal, 75 allows about one other letter in four.",
        check=check_threshold,
    )
    source_language: str = option("en", "Language to translate from.")
    stanza_dir: str | None = option(
        None, "Folder with the models of Stanza.", flag="--stanza", check=check_folder_of_models
    )

    @property
    def name(self) -> str:
        """Return the version's name."""
        return self.config + SENTENCE

    @property
    def models(self) -> Path | None:
        """Return the folder with Stanza's models, None for Stanza's own."""
        return Path(self.stanza_dir) if self.stanza_dir else None

    @property
    def command(self) -> str:
        """Return the command that rebuilds the version on any machine."""
        # Options of a translator may be secret or change between days (a key, a port).
        words = ["--config", self.config, "--translator", self.translator]
        words += spell_options(replace(self, stanza_dir=None))
        return shlex.join(["polyprobe", "build", "sentences", self.dataset, *words])

    def check(self) -> None:
        """Refuse a configuration that is itself a sentence version."""
        if not self.config or self.config.endswith(SENTENCE):
            raise PolyprobeError(
                f"--config {self.config!r}: expected a configuration of templates, whose name does "
                f"not end in {SENTENCE}"
            )
