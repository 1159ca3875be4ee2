"""Build klar: facts of BMLAMA-17, each in the five questions of Wang et al. (ACL 2025).

A row is a fact in a template, in the order of relation, fact and template. Rows are parallel: `17`
has the relations with five templates in all languages, `15` the languages with all relations.
The repository of Lost in Mistranslation has a copy, a JSON file for each language and relation. The
`index` of a sample is the row of BMLAMA-17, from 0. card.md lists the defects, which are kept.
"""

import json
from functools import reduce
from pathlib import Path

import polars as pl
import pyarrow as pa

from polyprobe.builder.recipes import bmlama
from polyprobe.builder.sources import SOURCES
from polyprobe.builder.sources.bmlama import MASK, Columns, make_published_table
from polyprobe.schema.columns import SLOT
from polyprobe.system.download import Repository, read_files, read_sums
from polyprobe.system.files import read_toml
from polyprobe.system.messages import track

DEFAULT_CONFIG = "17-repaired"
ABOUT = SOURCES["klar"]
REPOSITORY = Repository(**ABOUT["repository"], sha256=read_sums(__package__, "klar.sha256"))
SUBJECT = "<subject>"
SHORT = ("fa", "he")  # one template of two relations
N_TEMPLATES = 5
COLUMNS = {"relation": pl.String, "templates": pl.List(pl.String), **dict.fromkeys(
    ("row", "subject", "object", "candidates"), pl.String
)}  # fmt: skip


def build(config: str, mirror: Path | None = None) -> dict[str, pa.Table]:
    """Return {language: rows}."""
    size, _, version = config.partition("-")
    release = {x: y for x, y in read_release(mirror).items() if size == "17" or x not in SHORT}
    if version == "reworded":  # all relations have questions of ours
        for language, of in read_toml(__package__, "reworded.toml").items():
            questions = pl.DataFrame({"relation": [*of], "templates": [*of.values()]})
            release[language] = release[language].drop("templates").join(questions, on="relation")
    if version:
        # The questions are KLAR's: a repaired template of BMLAMA does not concern them.
        codes = pl.col("repairs").list.eval(pl.element().filter(pl.element() != "template"))
        facts = {
            language: pl.DataFrame(table).with_columns(repairs=codes, row="published_row")
            for language, table in bmlama.build("17-repaired", mirror).items()
        }
    else:
        facts = {language: list_released_facts(part) for language, part in release.items()}
    keys = ["relation", "row"]
    is_full = pl.col("templates").list.len() == N_TEMPLATES
    complete = [y.filter(is_full).join(facts[x], on="row", how="semi") for x, y in release.items()]
    shared = reduce(lambda first, second: first.join(second, on=keys, how="semi"), complete)
    number = pl.col("relation").str.slice(1).cast(pl.Int32)
    order = shared.select(keys).unique().sort(number, "row")
    return {x: fill_questions(order, release[x], facts[x]) for x in release}


def read_release(mirror: Path | None) -> dict[str, pl.DataFrame]:
    """Return {language: COLUMNS}, with the templates of a relation in each of its facts."""
    # `row` is the id of a fact's row in the published BMLAMA-17.
    folders = {Path(folder).name: folder for folder in REPOSITORY.sha256}
    contents = read_files(REPOSITORY, folders.values(), mirror)
    release = {}
    for language, files in zip(track(folders, "reading klar"), contents, strict=True):
        lines = [
            (table["relation_id"], table["prompt_templates"], f"17:{sample['index'] + 1:04}",
             sample["subject"], sample["object"], sample["object_candidates"])
            for table in map(json.loads, files.values())
            for sample in table["samples"]
        ]  # fmt: skip
        release[language] = pl.DataFrame(lines, COLUMNS, orient="row")
    return release


def list_released_facts(part: pl.DataFrame) -> pl.DataFrame:
    """Return the released facts of a language, in the columns of a dataset and with `row`."""
    nothing = [""] * len(part)
    candidates = [tuple(names.split(", ")) for names in part["candidates"]]
    columns = Columns(nothing, part["object"].to_list(), candidates, part["subject"].to_list())
    table = make_published_table(columns, part["row"].to_list(), nothing)
    return pl.DataFrame(table).with_columns(row="fact_id").unique("row", keep="last")


def fill_questions(order: pl.DataFrame, part: pl.DataFrame, facts: pl.DataFrame) -> pa.Table:
    """Return the rows of a language: each fact in the templates of its relation."""
    templates = part.unique("relation").select(
        "relation",
        prompt=pl.col("templates"),
        template_id=pl.int_ranges(pl.col("templates").list.len()),
    )
    rows = order.join(templates, on="relation", maintain_order="left").join(
        facts.drop("relation", "prompt", "template_id"), on="row", maintain_order="left"
    )
    prompt = pl.col("prompt").str.replace_all(MASK, SLOT, literal=True)
    prompt = prompt.str.replace_all(SUBJECT, pl.col("subject"), literal=True)
    name = pl.format("klar:{}:{}", "relation", "template_id")
    rows = rows.explode("prompt", "template_id").with_columns(prompt, template_id=name)
    return rows.drop("row").to_arrow()
