"""The request for a sentence version."""

import shlex
from typing import NamedTuple

from polyprobe.builder.objects.lemmatizers import LEMMATIZERS
from polyprobe.schema.columns import SENTENCE
from polyprobe.system.errors import PolyprobeError, unknown


class SentenceRequest(NamedTuple):
    """A sentence version: its base configuration, its languages, and the search for objects.

    `languages` defaults to all languages of the configuration. `threshold` is the minimum
    similarity of a span to the label, 0 to 100. `translator` is a translator's name.
    """

    dataset: str
    config: str
    translator: str
    languages: tuple[str, ...] = ()
    lemmatizer: str = "auto"
    threshold: float = 75
    source_language: str = "en"

    @property
    def name(self) -> str:
        """Return the version's name."""
        return self.config + SENTENCE

    @property
    def command(self) -> str:
        """Return the command that rebuilds the sentence version, without the translator's options.

        Options may be secret or change between days (a key, a port).
        """
        given = (
            ("--config", self.config),
            ("--translator", self.translator),
            ("--languages", ",".join(self.languages)),
            ("--lemmatizer", self.lemmatizer),
            ("--threshold", f"{self.threshold:g}"),
            ("--source-language", self.source_language),
        )
        words = [word for option, value in given for word in (option, value)]
        return shlex.join(["polyprobe", "build", "sentences", self.dataset, *words])


def check_request(request: SentenceRequest) -> None:
    """Raise PolyprobeError for an invalid threshold, lemmatizer or name of a configuration."""
    if request.lemmatizer not in LEMMATIZERS:
        raise unknown("lemmatizer", request.lemmatizer, "polyprobe", LEMMATIZERS)
    if not 0 <= request.threshold <= 100:
        raise PolyprobeError(f"--threshold {request.threshold:g}: expected 0 to 100")
    if not request.config or request.config.endswith(SENTENCE):
        raise PolyprobeError(
            f"--config {request.config!r}: expected a configuration of templates, whose name does "
            f"not end in {SENTENCE}"
        )
