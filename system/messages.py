"""What the user reads on a terminal: errors, reports, progress, logs; without secrets."""

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from reprlib import repr as repr_short
from typing import Any, TypeVar

import rich.console
from rich.progress import Progress, TextColumn
from rich.segment import Segment

from .text import clean, clean_lines, hide_secrets

Item = TypeVar("Item")
DESCRIPTION = "{task.description}"
_make_record = logging.getLogRecordFactory()
MAX_LENGTH = 200  # characters of a foreign message
_LISTED = 60  # known names in a message
# The optional packages that an extra of polyprobe installs.
EXTRAS = {
    "adapters": "peft",
    "builder": "babel polars pooch requests",
    "eval": "accelerate gguf psutil safetensors sentencepiece tokenizers torch transformers",
    "figures": "vl_convert",
    "quantized": "bitsandbytes",
    "ray": "ray",
    "sentences": "googletrans langcodes pymorphy3 rapidfuzz sacrebleu simplemma stanza",
    "served": "aiolimiter anyio httpx tenacity",
    "typology": "lang2vec",
}
PACKAGES = {package: extra for extra, names in EXTRAS.items() for package in names.split()}


class PolyprobeError(Exception):
    """A mistake that the user can correct: one line that names the value, the place, the remedy."""

    def __init__(self, message: object) -> None:
        super().__init__(hide_secrets(clean(message)))  # it has parts of files and answers


def unknown(kind: str, name: str, place: str, names: Collection[str]) -> PolyprobeError:
    """Make the error for a name that is not among `names`.

    >>> print(unknown("language", "gr", "mpararel", ["el", "gl", "fr"]))
    unknown language 'gr' in mpararel; did you mean 'gl'? available: el, fr, gl
    """
    text = f"unknown {kind} {name!r} in {place};{guess(name, names)} available: "
    return PolyprobeError(text + ", ".join(sorted(names)))


def refuse_unknown(kind: str, values: Iterable[str], place: str, names: Collection[str]) -> None:
    """Raise the error of `unknown` for the first of the values that is not among `names`."""
    for value in values:
        if value not in names:
            raise unknown(kind, value, place, names)


def check_option(option: str, value: str, names: Collection[str]) -> None:
    """Refuse a value that is not among `names`.

    >>> check_option("--dtype", "fp16", ("float32", "bfloat16", "float16"))
    Traceback (most recent call last):
    polyprobe.system.messages.PolyprobeError: unknown --dtype 'fp16'; did you mean 'float16'? \
known: float32, bfloat16, float16
    """
    if value not in names:
        hint = guess(str(value), names)
        raise PolyprobeError(f"unknown {option} {value!r};{hint} known: {list_first(names)}")


def list_first(names: Collection[str]) -> str:
    """List at most 60 names, and the number of the others."""
    more = len(names) - _LISTED
    return ", ".join([*names][:_LISTED]) + (f" and {more} more" if more > 0 else "")


def check_ending(option: str, file: Path, endings: Sequence[str]) -> None:
    """Refuse a file whose name has none of the endings, in upper or lower case.

    >>> check_ending("--table", Path("t.CSV"), (".csv", ".tex"))
    >>> check_ending("--map", Path("t.xls"), (".csv", ".tex"))
    Traceback (most recent call last):
    polyprobe.system.messages.PolyprobeError: --map t.xls: expected a name that ends in .csv or .tex
    """
    if file.suffix.lower() not in endings:
        *first_endings, last = endings
        listed = f"{', '.join(first_endings)} or {last}" if first_endings else last
        raise PolyprobeError(f"{option} {file}: expected a name that ends in {listed}")


def check_path(option: str, value: str) -> None:
    """Refuse a value that does not exist and can only be a path: with a folder or an ending.

    >>> check_path("--by", "groups.tsv")
    Traceback (most recent call last):
    polyprobe.system.messages.PolyprobeError: --by groups.tsv: no such file or folder
    """
    path = Path(value)
    if (path.suffix or len(path.parts) > 1) and not path.exists():
        raise PolyprobeError(f"{option} {value}: no such file or folder")


def guess(name: str, names: Collection[str]) -> str:
    """Write ` did you mean 'NEAREST'?`, or nothing if no known name is near."""
    folded = {candidate.casefold(): candidate for candidate in names}
    matches = get_close_matches(name.casefold(), folded, n=1, cutoff=0.5)
    return f" did you mean {folded[matches[0]]!r}?" if matches else ""


def may_be_unknown(error: BaseException) -> bool:
    """Tell whether an OSError may mean a missing file or network, not a full disk or a right."""
    lost = error.errno is None if isinstance(error, OSError) else True
    return lost or isinstance(error, FileNotFoundError | ConnectionError | TimeoutError)


def quote(value: object) -> str:
    """Write a value of any type as in code, on one line and short."""
    return one_line(repr_short(value))


def one_line(error: object) -> str:
    """Write the text of an error as one line, cut at a word; its class if it has no text."""
    text = " ".join(hide_secrets(str(error)).split())
    if len(text) > MAX_LENGTH:
        # a first word of that length, such as an address, is cut inside
        words = text[: MAX_LENGTH - 1].rpartition(" ")[0]
        return f"{words} …" if words else f"{text[: MAX_LENGTH - 1]}…"
    return text.rstrip(".") or type(error).__name__


@contextmanager
def naming_language(language: str) -> Iterator[None]:
    """Add the language to error messages."""
    try:
        yield
    except PolyprobeError as error:
        raise PolyprobeError(f"language '{language}': {error}") from error


def missing(purpose: str, package: str) -> PolyprobeError:
    """Make the one-line error for a missing package."""
    extra = PACKAGES.get(package)
    requirement = f"'polyprobe[{extra}]'" if extra else package
    return PolyprobeError(f"{purpose} needs the package {package}: pip install {requirement}")


def require(purpose: str, package: str) -> None:
    """Refuse what needs a package that is not installed, without an import of it."""
    if find_spec(package) is None:
        raise missing(purpose, package)


@contextmanager
def explain_missing_extras(purpose: str, any_package: bool = False) -> Iterator[None]:
    """Turn a ModuleNotFoundError for a package of an extra, or `any_package`, into one line."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in PACKAGES and not any_package:
            raise
        raise missing(purpose, package) from error


class Console(rich.console.Console):
    """The only kind of console: values are printed as they are, without commands to a terminal."""

    def __init__(self, stderr: bool = False, **options: Any) -> None:
        plain = {"markup": False, "emoji": False, "highlight": False}
        super().__init__(stderr=stderr, **plain, **options)

    def render(self, *arguments: Any, **options: Any) -> Iterator[Segment]:
        """Render anything to text, of which rich cleans only a part."""
        for segment in super().render(*arguments, **options):
            yield segment if segment.control else segment._replace(text=clean_lines(segment.text))


def track(items: Iterable[Item], description: str) -> Iterator[Item]:
    """Yield the items under a progress bar, which disappears at the end."""
    console = Console(stderr=True)
    hidden = not console.is_terminal  # a pipe or a log
    columns = (TextColumn(DESCRIPTION, markup=False), *Progress.get_default_columns()[1:])
    with Progress(*columns, console=console, transient=True, disable=hidden) as bars:
        yield from bars.track([*items], description=description)


def report(line: str) -> None:
    """Print one line on standard error, such as a count of excluded rows."""
    Console(stderr=True, soft_wrap=True).print(hide_secrets(clean(line)))


def hide_secrets_in_logs() -> None:
    """Cut secrets from what libraries log: the Hub's client logs its address with each retry."""

    def make(*values: Any, **keywords: Any) -> logging.LogRecord:
        record = _make_record(*values, **keywords)
        with suppress(Exception):  # arguments that do not fit: the library's own mistake
            record.msg, record.args = hide_secrets(clean_lines(record.getMessage())), ()
        return record

    logging.setLogRecordFactory(make)
