"""Options that several commands share, and their output of one line."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

if TYPE_CHECKING:
    from polyprobe.eval.run.choice import Choice

Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]
Cluster = Annotated[
    str,
    typer.Option(
        help="Resampling unit: subject, relation, none (each fact), or auto: subject if the fact "
        "ids name it, else none."
    ),
]
Relations = Annotated[
    str | None, typer.Option(help="Only the rows of these relations, comma-separated.")
]
Exclude = Annotated[
    str | None,
    typer.Option(help="Leave out rows of these relations or with these flags (default: none)."),
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


def parse_exclude(text: str | None) -> tuple[str, ...] | None:
    """Return the relations and flags to leave out; `none` is an empty list, None the default.

    >>> parse_exclude("P530, answer_in_subject"), parse_exclude("none"), parse_exclude(None)
    (('P530', 'answer_in_subject'), (), None)
    """
    return None if text is None else split_list("" if text == "none" else text)


def parse_choice(relations: str | None, exclude: str | None) -> "Choice":
    """Return the choice of scored rows; all by default."""
    from polyprobe.eval.run.choice import make_choice

    only = None if relations is None else split_list(relations)
    return make_choice(only, parse_exclude(exclude))


def say(line: str) -> None:
    """Print one line without wrapping."""
    Console().print(line, markup=False, highlight=False, soft_wrap=True)
