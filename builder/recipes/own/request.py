"""The request for a dataset of a user's own facts."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from polyprobe.builder.recipes import OWN
from polyprobe.schema.names import parse_languages
from polyprobe.system.options import Options, option, spell_options


@dataclass(frozen=True)
class OwnRequest(Options):
    """A dataset of a user's own facts.

    `facts` is a CSV or TSV file, `templates` a TOML file (`read.py`). `languages` defaults to all
    languages of the facts. `candidates` and `seed` are those of a balanced set. `licence` is the id
    of the data's licence on the Hub; with `unknown`, the data can only be pushed in private.
    """

    facts: Path
    templates: Path
    languages: tuple[str, ...] = option(
        (), "Comma-separated language codes (default: all of the facts).", parse=parse_languages
    )
    candidates: int = option(10, "Number of candidates per query, including the answer.", minimum=2)
    seed: int = option(0, "Random seed of the sampling.")
    licence: str = "unknown"

    @property
    def command(self) -> str:
        """Return the command that rebuilds the dataset, without the folders of the files."""
        files = [self.facts.name, "--templates", self.templates.name]
        words = [*files, *spell_options(self), "--licence", self.licence]
        return shlex.join(["polyprobe", "build", OWN, *words])
