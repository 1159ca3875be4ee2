"""What is asked of the sentence builder."""

import shlex
from typing import NamedTuple

from polyprobe.builder.objects.lemmatizers import LEMMATIZERS
from polyprobe.schema.columns import SENTENCE
from polyprobe.system.errors import PolyprobeError, unknown


class SentenceRequest(NamedTuple):
    """A twin: of which configuration, in which languages, how the object is to be found.

    Without `languages` all of the configuration are meant. `threshold` is the least likeness of a
    span with the label, 0 to 100. `translator` is the name of one; what its texts depend on is its
    `signature`.
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
        """Return the twin's name."""
        return self.config + SENTENCE

    @property
    def command(self) -> str:
        """Return the line that builds the twin again, the translator's own options aside.

        Those may be secrets or change from day to day (a key, a port).
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
    """Raise PolyprobeError for a threshold or a lemmatiser that cannot be, or a twin of a twin."""
    if request.lemmatizer not in LEMMATIZERS:
        raise unknown("lemmatizer", request.lemmatizer, "polyprobe", LEMMATIZERS)
    if not 0 <= request.threshold <= 100:
        raise PolyprobeError(f"--threshold {request.threshold:g}: expected 0 to 100")
    if not request.config or request.config.endswith(SENTENCE):
        raise PolyprobeError(
            f"--config {request.config!r}: expected a configuration of templates, whose name does "
            f"not end in {SENTENCE}"
        )
