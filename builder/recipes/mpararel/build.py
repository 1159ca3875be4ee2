"""Build mpararel: the tuples and patterns of Fierro and Søgaard (arXiv:2203.11552), as released.

A configuration is one language. Its rows are every tuple of the language (subject and object of a
relation) in every pattern of the relation, in the order of relation, tuple and pattern. Nothing is
drawn, repaired or left out: 6,194,163 rows of 46 languages. A row has one candidate, its object,
since the protocol ranks all objects of the relation (`--scoring mpararel`). `reviewed` is
`checked-by-human` of the release.

`LANG-translated` has the same tuples in the templates on which the released machine translations
agree (`votes`): the set before review, without the templates of mLAMA.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa

from polyprobe.builder.facts import SUBJECT
from polyprobe.builder.output.config import NOTES, Config
from polyprobe.builder.recipes import RECIPES, TRANSLATED
from polyprobe.builder.sources import mpararel

from .audit import count_patterns, count_tuples, describe_audit
from .votes import compare_votes, vote_for_templates

CONFIGS = (*RECIPES["mpararel"].configs, *RECIPES["mpararel"].variants)
DEFAULT_CONFIG = "en"


def describe(configs: Sequence[Config]) -> dict[str, str]:
    """Return the dataset's own parts of the card: sizes and defects by language."""
    return describe_audit(configs)


def build(config: str, mirror: Path | None = None) -> dict[str, pa.Table]:
    """Return the rows of a language, with its counts as notes."""
    language = config.removesuffix(TRANSLATED)
    tuples = mpararel.read_tuples(mirror, [language])
    patterns = mpararel.read_patterns(mirror, language)
    notes = {}
    if language != config:
        agreed = vote_for_templates(mirror, language)
        notes["votes"] = compare_votes(agreed, patterns)
        patterns = agreed
    rows = fill_patterns(tuples, patterns)
    counts = {**count_patterns(patterns), **count_tuples(tuples, patterns), "rows": rows.height}
    text = json.dumps({"counts": counts, **notes}, sort_keys=True)
    return {language: rows.to_arrow().replace_schema_metadata({NOTES: text})}


def fill_patterns(tuples: pl.DataFrame, patterns: pl.DataFrame) -> pl.DataFrame:
    """Return the rows: every tuple in every pattern of its relation.

    Args:
        tuples: columns `relation` and `mpararel.TUPLES`.
        patterns: columns of `mpararel.read_patterns`, each pattern with `[X]` exactly once.

    Returns:
        The columns of `RELEASED` that the dataset has; as many rows as there are pairs.
    """
    parts = pl.col("pattern").str.split_exact(SUBJECT, 1).struct
    cut = patterns.with_columns(before=parts.field("field_0"), after=parts.field("field_1"))
    rows = tuples.lazy().join(cut.lazy(), on="relation", maintain_order="left_right")
    label = pl.concat_list("obj_label")
    return rows.select(
        fact_id=pl.concat_str("relation", "sub_uri", "obj_uri", separator=":"),
        relation="relation",
        subject_id="sub_uri",
        object_id="obj_uri",
        subject="sub_label",
        prompt=pl.concat_str("before", "sub_label", "after"),
        candidates=label,
        candidate_ids=pl.concat_list("obj_uri"),
        answers=pl.concat_list(pl.lit(0, pl.Int32)),
        answer_forms=label,
        template_id="template_id",
        reviewed="reviewed",
    ).collect()
