"""Options that several commands share, and their output of one line."""

from collections.abc import Iterable
from typing import Annotated

import typer
from rich.console import Console

Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]
Cluster = Annotated[
    str,
    typer.Option(
        help="Resampling unit: subject, relation, none (each fact), or auto: subject if the fact "
        "ids name it, else none."
    ),
]


def split_list(texts: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return the items of comma-separated lists, without blanks and repetitions.

    >>> split_list(["P36, P37", "P36"])
    ('P36', 'P37')
    """
    lists = [texts] if isinstance(texts, str) else texts or ()
    parts = [part.strip() for text in lists for part in text.split(",")]
    return tuple(dict.fromkeys(filter(None, parts)))


def parse_languages(texts: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return language codes in the spelling of cards and sources, with hyphens.

    >>> parse_languages("en, zh_hans"), parse_languages(["en,fr", "zh-hans"])
    (('en', 'zh-hans'), ('en', 'fr', 'zh-hans'))
    """
    return tuple(dict.fromkeys(item.replace("_", "-") for item in split_list(texts)))


def parse_splits(text: str | None) -> list[str] | None:
    """Return the split names of languages, with underscores; None, for all, stays None.

    >>> parse_splits("en, zh-hans"), parse_splits(None)
    (['en', 'zh_hans'], None)
    """
    return None if text is None else [code.replace("-", "_") for code in parse_languages(text)]


def say(line: str) -> None:
    """Print one line without wrapping."""
    Console().print(line, markup=False, highlight=False, soft_wrap=True)
