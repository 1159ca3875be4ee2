"""Build klar: facts of BMLAMA-17, each in the five questions of Wang et al. (ACL 2025).

A row is a fact in a template, in the order of relation, fact and template. Rows are parallel: `17`
has the relations with five templates in all languages, `15` the languages with all relations.
The repository of Lost in Mistranslation has a copy, a JSON file for each language and relation. The
`index` of a sample is the row of BMLAMA-17, from 0. card.md lists the defects, which are kept.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa

from polyprobe.builder.recipes import bmlama
from polyprobe.builder.sources.bmlama.files import MASK, Columns, make_published_table
from polyprobe.schema.columns import SLOT
from polyprobe.system.download import Repository, read_files, read_sums
from polyprobe.system.messages import track

DEFAULT_CONFIG = "17-repaired"
REPOSITORY = Repository(
    name="jvonrad/Lost-in-Mistranslation",
    commit="3ca0eea4944b405eb06b0d786c28efa766d7aeeb",
    sha256=read_sums(__package__, "klar.sha256"),
)
SUBJECT = "<subject>"
SHORT = ("fa", "he")  # one template of two relations
N_TEMPLATES = 5


class Relation(NamedTuple):
    """The templates and facts of a relation in a language, in the released order."""

    templates: list[str]
    samples: list[dict[str, Any]]


def build(config: str, mirror: Path | None = None) -> dict[str, pa.Table]:
    """Return {language: rows}."""
    size, _, repaired = config.partition("-")
    by_language = {
        language: relations
        for language, relations in read_relations(mirror).items()
        if size == "17" or language not in SHORT
    }
    if repaired:
        # The questions are KLAR's: a repaired template of BMLAMA does not concern them.
        codes = pl.col("repairs").list.eval(pl.element().filter(pl.element() != "template"))
        facts = {
            language: pl.DataFrame(table).with_columns(repairs=codes, row="published_row")
            for language, table in bmlama.build("17-repaired", mirror).items()
        }
    else:
        facts = {language: list_released_facts(part) for language, part in by_language.items()}
    order = choose_parallel_rows(by_language, facts)
    return {x: fill_questions(order, by_language[x], facts[x]) for x in by_language}


def read_relations(mirror: Path | None) -> dict[str, dict[str, Relation]]:
    """Return {language: {relation: its templates and facts}}."""
    folders = {Path(folder).name: folder for folder in REPOSITORY.sha256}
    contents = read_files(REPOSITORY, folders.values(), mirror)
    by_language = {}
    for language, files in zip(track(folders, "reading klar"), contents, strict=True):
        tables = list(map(json.loads, files.values()))
        by_language[language] = {
            table["relation_id"]: Relation(table["prompt_templates"], table["samples"])
            for table in tables
        }
    return by_language


def list_released_facts(relations: Mapping[str, Relation]) -> pl.DataFrame:
    """Return the released facts of a language; `row` is that of the published BMLAMA-17."""
    samples = [sample for relation in relations.values() for sample in relation.samples]
    rows, nothing = list(map(name_row, samples)), [""] * len(samples)
    columns = Columns(
        nothing,
        [sample["object"] for sample in samples],
        [tuple(sample["object_candidates"].split(", ")) for sample in samples],
        [sample["subject"] for sample in samples],
    )
    facts = pl.DataFrame(make_published_table(columns, rows, nothing)).with_columns(row="fact_id")
    return facts.unique("row", keep="last")


def name_row(sample: Mapping[str, Any]) -> str:
    """Return the id of a fact's row in the published BMLAMA-17."""
    return f"17:{sample['index'] + 1:04}"


def choose_parallel_rows(
    by_language: Mapping[str, Mapping[str, Relation]], facts: Mapping[str, pl.DataFrame]
) -> dict[str, list[str]]:
    """Return {relation: rows of BMLAMA-17} that all languages have, in five templates."""
    first, *_ = by_language.values()
    order = {}
    for name in sorted(first, key=lambda name: int(name[1:])):
        parts = {language: relations[name] for language, relations in by_language.items()}
        if all(len(part.templates) == N_TEMPLATES for part in parts.values()):
            rows = [
                {*map(name_row, part.samples)} & {*facts[language]["row"]}
                for language, part in parts.items()
            ]
            order[name] = sorted(set.intersection(*rows))
    return order


def fill_questions(
    order: Mapping[str, Sequence[str]], relations: Mapping[str, Relation], facts: pl.DataFrame
) -> pa.Table:
    """Return the rows of a language: each fact in the templates of its relation."""
    lines = [
        (name, row, template.replace(MASK, SLOT), f"klar:{name}:{number}")
        for name, rows in order.items()
        for row in rows
        for number, template in enumerate(relations[name].templates)
    ]
    names = ("relation", "row", "prompt", "template_id")
    rows = pl.DataFrame(lines, dict.fromkeys(names, pl.String), orient="row").join(
        facts.drop("relation", "prompt", "template_id"), on="row", maintain_order="left"
    )
    prompt = pl.col("prompt").str.replace_all(SUBJECT, pl.col("subject"), literal=True)
    return rows.with_columns(prompt).drop("row").to_arrow()
