"""The templates on which the released translations of mParaRel agree.

The rule of the paper (section 3), with details that it does not state inferred from the release: a
wording of a relation is valid if two translators give it for any template of that relation, or if
Bing (the Microsoft translator) gives it. Wordings are compared in lower case, without `.`, `:`
and `。`, with single spaces; `[x]` and `[ X ]` are slots. A valid wording has each slot once and
another word. In the 34 unreviewed languages besides English 10,392 templates are valid; 10,320 of
these are among the 11,451 released ones, whose rest is templates of mLAMA and repaired slots.
"""

import re
from pathlib import Path

import polars as pl

from polyprobe.builder.facts import SUBJECT
from polyprobe.builder.sources import mpararel
from polyprobe.builder.sources.mpararel_translations import read_translations
from polyprobe.builder.translators.votes import count_votes
from polyprobe.schema.columns import SLOT

TRUSTED = ("bing",)
SLOTS = {SUBJECT: re.compile(r"\[\s*x\s*\]"), SLOT: re.compile(r"\[\s*y\s*\]")}
STRIPPED = re.compile(r"[.:。]")
NOT_A_WORD = re.compile(r"\[[XY]\]|[\W_]")


def vote_for_templates(mirror: Path | None, language: str) -> pl.DataFrame:
    """Return the templates of a language with two votes, in the columns of `read_patterns`.

    The relations are those of English, in order of name; the templates of a relation are in order
    of first occurrence, translator by translator. `reviewed` is null. `translators` has the names
    of those that give the wording.
    """
    english = mpararel.read_patterns(mirror, "en")["relation"].unique()
    translations = read_translations(mirror, language).filter(
        pl.col("relation").is_in(english.to_list())
    )
    wordings = [read_wording(text) for text in translations["pattern"]]
    rows = translations.with_columns(pattern=pl.Series(wordings, dtype=pl.String))
    keys = ["relation", "pattern"]
    number = pl.int_range(pl.len()).over("relation")
    return (
        count_votes(rows.filter(pl.col("pattern") != ""), keys, TRUSTED)
        .filter("valid")
        .unique(keys, keep="first", maintain_order=True)
        .sort("relation", maintain_order=True)
        .select(
            "relation",
            template_id=pl.format("mpararel-votes:{}:{}", "relation", number),
            pattern="pattern",
            reviewed=pl.lit(None, pl.Boolean),
            translators="voters",
        )
    )


def read_wording(text: str) -> str:
    """Return a translation in the form of the release, '' if it is not a template.

    >>> read_wording("Die taal van [ x ]  is [Y].")
    'die taal van [X] is [Y]'
    >>> read_wording("[X], [Y]"), read_wording("X is Y")
    ('', '')
    """
    text = text.lower()
    for slot, pattern in SLOTS.items():
        text = pattern.sub(slot, text)
    text = " ".join(STRIPPED.sub("", text).split())
    if not text.count(SUBJECT) == text.count(SLOT) == 1:
        return ""
    return text if NOT_A_WORD.sub("", text) else ""


def compare_votes(agreed: pl.DataFrame, released: pl.DataFrame) -> dict[str, int]:
    """Return the counts of a language: agreed templates, released ones, and those in common.

    `by_two` are the released templates that two translators give, without double votes.
    """
    common = released.join(agreed, on=["relation", "pattern"])
    return {
        "agreed": agreed.height,
        "released": released.height,
        "common": common.select("relation", "pattern").n_unique(),
        "by_two": int((common["translators"].list.len() > 1).sum()),
    }
