"""Build polyglot: the rows of Schott, Furman and Bhat (EMNLP 2023, arXiv:2305.13675) as released.

Wikidata ids are those of `sources.polyglot`. card.md describes the columns.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import polars as pl
import pyarrow as pa

from polyprobe.builder.output.folder import NOTES, Config, markdown_table
from polyprobe.builder.sources import mpararel, polyglot
from polyprobe.schema.columns import REPEATED, REPEATED_ROW, SLOT
from polyprobe.system.files import read_toml

DEFAULT_CONFIG = "en"
PARALLEL = "parallel"
FLAGS = ("inverted", "ends_in_answer", REPEATED, REPEATED_ROW)
COUNTS = read_toml(__package__, "counts.toml")
"""Counts of a language on the card, with their meanings."""


def describe(configs: Sequence[Config]) -> dict[str, str]:
    """Return the dataset's own parts of the card: the audit of each language."""
    counts = {config.name: config.notes["counts"] for config in configs}
    rows = [(meaning, *(of[name] for of in counts.values())) for name, meaning in COUNTS.items()]
    return {"audit": markdown_table(("", *counts), rows)}


def build(config: str, mirror: Path | None = None) -> dict[str, pa.Table]:
    """Return the rows of a configuration by language, with their counts as notes."""
    languages = polyglot.LANGUAGES if config == PARALLEL else (config,)
    rows = add_columns(polyglot.read_stems(mirror, languages), *read_english(mirror))
    if config == PARALLEL:
        # The facts of all languages in the order of English, with the flags of any language.
        rows = rows.filter(pl.len().over("dataset_id") == len(languages))
        flags = rows.group_by("dataset_id").agg(
            pl.col("flags").list.explode(keep_nulls=False, empty_as_null=False).unique().sort()
        )
        order = rows.filter(language="en").select("dataset_id").with_row_index("place")
        rows = rows.drop("flags").join(flags, on="dataset_id").join(order, on="dataset_id")
        rows = rows.sort("language", "place")
    tables = {}
    for language in languages:
        part = rows.filter(language=language)
        notes = json.dumps({"counts": part.select(pl.col(*COUNTS).sum()).row(0, named=True)})
        tables[language] = part.to_arrow().replace_schema_metadata({NOTES: notes})
    return tables


@lru_cache(maxsize=1)  # the configurations are built in sequence
def read_english(mirror: Path | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the English rows, which all are translations of, and their ids (ENTITIES)."""
    english = polyglot.read_stems(mirror, ["en"])
    return english, polyglot.identify_entities(english, mpararel.read_facts(mirror, ["en"]))


def add_columns(rows: pl.DataFrame, english: pl.DataFrame, entities: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of the dataset and those that are counted, in the released order."""
    stems, false = (pl.col(name).str.split(polyglot.SEPARATOR) for name in ("stem", "false"))
    rows = rows.with_columns(stems=stems, candidates=pl.concat_list("true", false))
    rows = rows.join(entities, on=["dataset_id", "relation"], how="left", maintain_order="left")
    names = english.select("dataset_id", english_subject="subject")
    rows = rows.join(names, on="dataset_id", how="left", maintain_order="left")
    size = pl.col("candidates").list.len()
    rows = polyglot.repair_answers(rows).with_columns(
        linked=pl.all_horizontal(
            ~pl.col(f"{end}_id").str.starts_with("polyglot:") for end in ("subject", "object")
        ),
        true_is_false=pl.col("candidates").list.slice(1).list.contains(pl.col("true")),
        untranslated=pl.col("subject") == pl.col("english_subject"),
        several_counterfacts=size > 2,
        own_prompts="several",
        **{REPEATED: pl.col("candidates").list.n_unique() < size},
    )
    # A row with several stems has one for each candidate, in the same order.
    prompts = pl.col("stems").list.eval(pl.element() + f" {SLOT}.")
    fact = pl.concat_str("relation", "subject_id", "object_id", separator=":")
    rows = rows.with_columns(
        fact_id=pl.when("linked").then(fact).otherwise("polyglot:" + pl.col("dataset_id")),
        prompt=prompts.list.first(),
    )
    question = pl.struct("language", "fact_id", "relation", "prompt")
    rows = rows.with_columns(question.is_first_distinct().not_().alias(REPEATED_ROW))
    flags = [pl.when(pl.col(flag)).then(pl.lit(flag)) for flag in FLAGS]
    # An inverted stem asks for the subject of its relation: the ends change places.
    return rows.with_columns(
        subject_id=pl.when("inverted").then("object_id").otherwise("subject_id"),
        object_id=pl.when("inverted").then("subject_id").otherwise("object_id"),
        subject=pl.when("inverted").then("object").otherwise("subject"),
        prompts=pl.when("several").then(prompts),
        candidate_ids=pl.lit([], pl.List(pl.String)),
        answers=pl.lit([0], pl.List(pl.Int32)),
        answer_forms=pl.concat_list("true"),
        template_id="polyglot:" + pl.col("relation"),
        flags=pl.concat_list(flags).list.drop_nulls(),
    )
