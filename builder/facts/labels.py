"""Comparison, clean-up and choice of labels."""

import unicodedata
from collections.abc import Sequence

import polars as pl

from .alphabets import unmix
from .invisible import INVISIBLE, normalise


def fold(text: str) -> str:
    """Return a text without differences of case, Unicode composition and kinds of spaces.

    >>> fold("E\u0301TAT") == fold("\u00e9tat")
    True
    """
    text = unicodedata.normalize("NFC", " ".join(text.split())).casefold()
    return unicodedata.normalize("NFC", text)


def clean(text: str, language: str) -> str:
    """Return a text without invisible characters and with each word in one alphabet."""
    return unmix(normalise(text, language))


def tidy(rows: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return the rows in the same order, with normalised and stripped texts in the columns.

    The column `language` determines which characters are part of the spelling
    (`invisible.normalise`). Null values stay null.
    """
    for column in columns:
        untidy = rows.filter(pl.col(column).str.contains_any(list(INVISIBLE)))
        untidy = untidy.select("language", column).unique()
        tidied = [normalise(text, language) for language, text in untidy.iter_rows()]
        rows = (
            rows.join(
                untidy.with_columns(tidied=pl.Series(tidied, dtype=pl.String)),
                on=["language", column],
                how="left",
                maintain_order="left",
            )
            .with_columns(pl.coalesce("tidied", column).str.strip_chars().alias(column))
            .drop("tidied")
        )
    return rows


def count_changed(before: pl.DataFrame, after: pl.DataFrame, columns: Sequence[str]) -> int:
    """Count the rows in which one of the columns differs."""
    differs = pl.any_horizontal(before[column].ne_missing(after[column]) for column in columns)
    return int(before.select(differs).to_series().sum())


def choose_labels(named: pl.DataFrame) -> pl.DataFrame:
    """Return one label for each language and id: the most frequent, in a tie the first in order.

    `named` has the columns of `facts.LABELS` with repetitions. The result has the same columns and
    is sorted.
    """
    return (
        named.group_by("language", "id", "label")
        .len()
        .sort("language", "id", "len", "label", descending=[False, False, True, False])
        .unique(["language", "id"], keep="first", maintain_order=True)
        .select("language", "id", "label")
    )


def count_contradictions(named: pl.DataFrame) -> int:
    """Count the pairs of language and id with several labels."""
    several = named.group_by("language", "id").agg(pl.col("label").n_unique())
    return several.filter(pl.col("label") > 1).height
