"""Build klar: facts of BMLAMA-17, each in the five questions of Wang et al. (ACL 2025).

A row is a fact in a template, in the order of relation, fact and template. Rows are parallel: `17`
has the relations with five templates in all languages, `15` the languages with all relations.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa

from polyprobe.builder.recipes.bmlama import build as bmlama
from polyprobe.builder.sources.bmlama.files import MASK, Columns, make_published_table
from polyprobe.builder.sources.klar import SUBJECT, Relation, Sample, read_relations
from polyprobe.schema.columns import SLOT

DEFAULT_CONFIG = "17-repaired"
SHORT = ("fa", "he")  # one template of two relations
N_TEMPLATES = 5


def build(config: str, mirror: Path | None = None) -> dict[str, pa.Table]:
    """Return {language: rows}."""
    size, _, repaired = config.partition("-")
    by_language = {
        language: relations
        for language, relations in read_relations(mirror).items()
        if size == "17" or language not in SHORT
    }
    if repaired:
        facts = read_repaired(mirror)
    else:
        facts = {language: list_released_facts(part) for language, part in by_language.items()}
    order = choose_parallel_rows(by_language, facts)
    return {x: fill_questions(order, by_language[x], facts[x]) for x in by_language}


def read_repaired(mirror: Path | None) -> dict[str, pl.DataFrame]:
    """Return the rows of BMLAMA's `17-repaired`."""
    # The questions are KLAR's: a repaired template of BMLAMA does not concern them.
    codes = pl.col("repairs").list.eval(pl.element().filter(pl.element() != "template"))
    return {
        language: pl.DataFrame(table).with_columns(repairs=codes, row="published_row")
        for language, table in bmlama.build("17-repaired", mirror).items()
    }


def list_released_facts(relations: Mapping[str, Relation]) -> pl.DataFrame:
    """Return the released facts of a language; `row` is that of the published BMLAMA-17."""
    samples = [sample for relation in relations.values() for sample in relation.samples]
    rows, nothing = list(map(name_row, samples)), [""] * len(samples)
    _, subjects, answers, candidates = zip(*samples, strict=True)
    columns = Columns(nothing, answers, candidates, subjects)
    facts = pl.DataFrame(make_published_table(columns, rows, nothing)).with_columns(row="fact_id")
    return facts.unique("row", keep="last")


def name_row(sample: Sample) -> str:
    """Return the id of a fact's row in the published BMLAMA-17."""
    return f"17:{sample.row + 1:04}"


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
