"""The model of `polyprobe demo`, geolm, and the script that trains it."""

from difflib import get_close_matches
from pathlib import Path

from polyprobe.system.errors import PolyprobeError

TRAINED = ("en", "es", "ru", "ar", "zh", "hi")  # the languages of geolm's training sentences
EMBEDDED = ("geolm",)


def check_model(name: str) -> None:
    """Refuse a name like that of an embedded model, which only a mistake can mean.

    Other names without an owner, such as `gpt2`, may be on the Hub.
    """
    near = get_close_matches(name.casefold(), EMBEDDED, n=1, cutoff=0.7)
    if near and name not in EMBEDDED and not Path(name).exists():
        raise PolyprobeError(
            f"unknown model {name!r}; did you mean {near[0]!r}? give an id on the Hub, a local "
            "folder, or a GGUF file"
        )
