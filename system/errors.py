"""Errors that a user can correct, each in one line."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from pathlib import Path

MAX_LENGTH = 200  # characters of a foreign message
_LISTED = 60  # known names in a message


class PolyprobeError(Exception):
    """A mistake that the user can correct: one line that names the value, the place, the remedy.

    The command line prints it without a traceback and exits with status 1.
    """


def unknown(kind: str, name: str, place: str, known: Collection[str]) -> PolyprobeError:
    """Return the error for a name that is not among `known`.

    >>> print(unknown("language", "gr", "mpararel", ["el", "gl", "fr"]))
    unknown language 'gr' in mpararel; did you mean 'gl'? available: el, fr, gl
    """
    listed = ", ".join(sorted(known))
    return PolyprobeError(
        f"unknown {kind} {name!r} in {place};{guess(name, known)} available: {listed}"
    )


def check_option(option: str, value: str, known: Collection[str]) -> None:
    """Refuse a value that is not among `known`.

    >>> check_option("--dtype", "fp16", ("float32", "bfloat16", "float16"))
    Traceback (most recent call last):
    polyprobe.system.errors.PolyprobeError: unknown --dtype 'fp16'; did you mean 'float16'? \
known: float32, bfloat16, float16
    """
    if value not in known:
        more = len(known) - _LISTED
        listed = ", ".join([*known][:_LISTED]) + (f" and {more} more" if more > 0 else "")
        near = guess(str(value), known)
        raise PolyprobeError(f"unknown {option} {value!r};{near} known: {listed}")


def check_ending(option: str, file: Path, endings: Sequence[str]) -> None:
    """Refuse a file whose name has none of the endings, in upper or lower case.

    >>> check_ending("--table", Path("t.CSV"), (".csv", ".tex"))
    >>> check_ending("--table", Path("t.xls"), (".csv", ".tex"))
    Traceback (most recent call last):
    polyprobe.system.errors.PolyprobeError: --table t.xls: expected a name that ends in .csv or .tex
    """
    if file.suffix.lower() not in endings:
        *others, last = endings
        listed = f"{', '.join(others)} or {last}" if others else last
        raise PolyprobeError(f"{option} {file}: expected a name that ends in {listed}")


def check_path(option: str, value: str) -> None:
    """Refuse a value that does not exist and can only be a path: with a folder or an ending.

    >>> check_path("--by", "groups.tsv")
    Traceback (most recent call last):
    polyprobe.system.errors.PolyprobeError: --by groups.tsv: no such file or folder
    """
    path = Path(value)
    if (path.suffix or len(path.parts) > 1) and not path.exists():
        raise PolyprobeError(f"{option} {value}: no such file or folder")


def guess(name: str, known: Collection[str]) -> str:
    """Return ` did you mean 'NEAREST'?`, or nothing if no known name is near."""
    folded = {other.casefold(): other for other in known}
    near = get_close_matches(name.casefold(), folded, n=1, cutoff=0.5)
    return f" did you mean {folded[near[0]]!r}?" if near else ""


def one_line(error: BaseException) -> str:
    """Return the text of an error as one line, or its class if it has no text.

    Text over 200 characters is cut at a word and ends with `…`. A first word of that length, such
    as an address, is cut inside.
    """
    text = " ".join(str(error).split())
    if len(text) > MAX_LENGTH:
        whole = text[: MAX_LENGTH - 1].rpartition(" ")[0]
        return f"{whole} …" if whole else f"{text[: MAX_LENGTH - 1]}…"
    return text.rstrip(".") or type(error).__name__
