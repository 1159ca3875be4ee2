"""The vote of translators on a wording, as in mParaRel."""

from collections.abc import Collection, Sequence

import polars as pl


def count_votes(
    wordings: pl.DataFrame, scope: Sequence[str], trusted: Collection[str]
) -> pl.DataFrame:
    """Add the votes for the wording of each row: `voters` and whether it is `valid`.

    This is the rule of Fierro and Søgaard (arXiv:2203.11552, section 3): a translation is valid if
    two translators agree, or if it is from the one that native speakers found to be good. So a
    trusted translator has two votes, the others have one.

    Args:
        wordings: the column `translator` and those of `scope`, a row for each wording given.
        scope: columns whose values are equal in rows that agree.
        trusted: translators with two votes.

    >>> rows = pl.DataFrame({"translator": ["bing", "google", "google"], "text": ["a", "b", "a"]})
    >>> count_votes(rows, ["text"], ["bing"])["valid"].to_list()
    [True, False, True]
    """
    name = pl.col("translator")
    doubled = name.filter(name.is_in(list(trusted)))
    return wordings.with_columns(
        voters=name.unique(maintain_order=True).over(scope, mapping_strategy="join"),
        valid=(name.n_unique() + doubled.n_unique()).over(scope) > 1,
    )
