"""Polyglot or Not (Schott, Furman and Bhat, EMNLP 2023, arXiv:2305.13675).

Parquet in 20 languages, one row for each stem; `dataset_id` joins the languages. Entities have no
ids. They are found by English labels, since English has all rows: the Wikidata id of the only
subject or object of mParaRel's relation with this label (ignoring case), otherwise
`polyglot:RELATION:LABEL` in lower case. In 66% of the facts both ends have Wikidata ids. Defects:

- Some rows have several stems, one for each entity, joined by ` <br> `. `read_facts` takes only the
  first, that of the true entity. The recipe `polyglot` keeps all.
- 1,574 of 26,267 English rows ask for the subject (`Lima is the capital of`). Their facts and
  labels are kept, but their stems are not used as prompts.
- Some stems end in an answer with a parenthesis, which upstream did not cut off. They are excluded.
- `true` often has the wrong case (`Bbc`). If only the case differs, `object` is taken.
- `object` is often untranslated, so in all other rows `true` is the answer's label. Subjects are
  also often untranslated (equal to English in 89% of rows in sv, 3% in sr). They are kept.
"""

import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import polars as pl

from polyprobe.builder.facts import FACTS, PROMPTS, Facts, count_changed
from polyprobe.builder.facts.labels import choose_labels, tidy
from polyprobe.schema.columns import SLOT
from polyprobe.system.download import Repository, read_files, read_sums
from polyprobe.system.messages import track

from . import SOURCES, mpararel

ABOUT = SOURCES["polyglot"]
LICENCE, REASONS = ABOUT["licence"], ABOUT["repairs"]
REPOSITORY = Repository(**ABOUT["repository"], sha256=read_sums(__package__, "polyglot.sha256"))
# File names are `LANGUAGE-fact-completion-DATE.parquet`.
PATHS = {PurePosixPath(path).name.partition("-")[0]: path for path in sorted(REPOSITORY.sha256)}
LANGUAGES = tuple(sorted(PATHS))
COLUMNS = ("dataset_id", "relation", "subject", "object", "true", "false", "stem")
ENTITIES = {"dataset_id": pl.String, **FACTS, "inverted": pl.Boolean}
ENDS = ("subject", "object")
TEXTS = (*ENDS, "true", "first")
SEPARATOR = " <br> "


def read_facts(mirror: Path | None, languages: Sequence[str] | None = None) -> Facts:
    """Return the facts of English, and labels and prompts in some languages (default: all)."""
    selection = sorted(set(LANGUAGES if languages is None else languages))
    released = read_stems(mirror, sorted({"en", *selection}))
    rows = tidy(released, TEXTS)
    entities = identify_entities(rows.filter(language="en"), mpararel.read_facts(mirror, ["en"]))
    part = pl.col("language").is_in(selection)
    untidy = count_changed(released.filter(part), rows.filter(part), TEXTS)
    return collect_rows(rows.filter(part), entities, untidy)


def read_stems(mirror: Path | None, languages: Sequence[str]) -> pl.DataFrame:
    """Return the released rows: `language`, COLUMNS, `first` (stem), `several` (are there more)."""
    contents = read_files(REPOSITORY, [PATHS[language] for language in languages], mirror)
    tables = []
    for language, content in zip(track(languages, "reading polyglot"), contents, strict=True):
        table = pl.read_parquet(io.BytesIO(content), columns=list(COLUMNS))
        tables.append(table.select(pl.lit(language).alias("language"), *COLUMNS))
    return pl.concat(tables).with_columns(
        first=pl.col("stem").str.split(SEPARATOR).list.first(),
        several=pl.col("stem").str.contains(SEPARATOR, literal=True),
    )


def identify_entities(english: pl.DataFrame, facts: Facts) -> pl.DataFrame:
    """Return ENTITIES: the ids of each row, and whether it asks for the subject (`inverted`)."""
    rows, labels = english, facts.labels.filter(language="en")
    labels = labels.with_columns(key=pl.col("label").str.to_lowercase())
    for end in ENDS:
        key = pl.col(end).str.to_lowercase()
        fallback = pl.concat_str(pl.lit("polyglot"), "relation", key, separator=":")
        names = facts.facts.select("relation", id=f"{end}_id").join(labels, on="id")
        ids = names.group_by("relation", "key").agg(pl.col("id").unique())
        ids = ids.filter(pl.col("id").list.len() == 1).with_columns(pl.col("id").list.first())
        rows = rows.with_columns(key.alias("key"))
        rows = rows.join(ids, on=["relation", "key"], how="left")
        rows = rows.with_columns(pl.coalesce("id", fallback).alias(f"{end}_id")).drop("id", "key")
    inverted = pl.col("true") != pl.col("object")
    return rows.with_columns(inverted=inverted).select(*ENTITIES).sort("dataset_id")


def collect_rows(rows: pl.DataFrame, entities: pl.DataFrame, untidy: int) -> Facts:
    """Return the rows as `Facts`, with the counts of repairs."""
    complete = repair_answers(rows.join(entities, on=["dataset_id", "relation"]))
    # `answer` is the label of the entity that the stem asks for.
    subject = pl.when("inverted").then("answer").otherwise("subject")
    thing = pl.when("inverted").then("object").otherwise("answer")
    ends = zip(ENDS, (subject, thing), strict=True)
    names = pl.concat(complete.select("language", id=f"{x}_id", label=y) for x, y in ends)
    facts = entities.select(*FACTS).unique().sort(*FACTS)
    ids = {*facts["subject_id"], *facts["object_id"]}
    asks_object = complete.filter(~pl.col("inverted"))
    open_ended = asks_object.filter(~pl.col("ends_in_answer"))
    # As upstream does for masked models.
    prompt = pl.concat_str("first", pl.lit(f" {SLOT}."))
    prompts = open_ended.select("language", *FACTS, prompt=prompt, form="answer")
    counts: Counter[str] = Counter()
    labels = choose_labels(names, counts)
    counts |= {
        REASONS["untidy"]: untidy,
        REASONS["lists"]: complete["several"].sum(),
        REASONS["spoiled"]: complete["spoiled"].sum(),
        REASONS["inverted"]: complete.height - asks_object.height,
        REASONS["answered"]: asks_object.height - open_ended.height,
        REASONS["own_ids"]: sum(own_id.startswith("polyglot:") for own_id in ids),
    }
    repairs = {reason: count for reason, count in sorted(counts.items()) if count}
    return Facts(facts, labels, repairs, prompts=prompts.unique().sort(*PROMPTS))


def repair_answers(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with `answer`, the label of the entity that the stem asks for."""
    # `spoiled` marks repaired labels, `ends_in_answer` stems that end in the label.
    label = pl.when("inverted").then("subject").otherwise("object")
    lower = pl.col("true").str.to_lowercase()
    same = lower == label.str.to_lowercase()
    return rows.with_columns(
        answer=pl.when(same).then(label).otherwise("true"),
        spoiled=same & (pl.col("true") != label),
        ends_in_answer=pl.col("first").str.to_lowercase().str.ends_with(lower),
    )
