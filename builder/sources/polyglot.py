"""Polyglot or Not (Schott, Furman and Bhat, EMNLP 2023, arXiv:2305.13675).

Parquet in 20 languages, one row a stem: `dataset_id` (`rome_N`, from CounterFact, or `calinet_N`,
from CALINET) joins the languages, `relation` is a Wikidata property, entities have no ids. They are
taken from English, where every row stands: the Wikidata id of the one subject or object of
mParaRel's relation that has the row's English label (whatever the case of its letters), otherwise
`polyglot:RELATION:LABEL` in lower case. So an object has one id in all rows of a relation; homonyms
that mParaRel does not tell apart share it. 66 % of the facts get Wikidata ids at both ends.

Defects:
- A stem is one, or one for each entity joined by ` <br> `, the true one's first: only that is
  taken. Of the other columns only `false` has lists, and it is not read: distractors go by ids.
- 1,574 of 26,267 English rows ask for the subject (`Lima is the capital of`): the fact and its
  labels are kept, the stem is no prompt for the object.
- Stems that end in the answer (its parenthesis hid it from upstream's cut) are left out.
- `true` is often spoiled in case (`Bbc`): where only case differs, `object` is taken.
- `object` is often untranslated, so `true` is the answer's label otherwise. Subjects are often
  untranslated too (equal to English in 89 % of rows in sv, 84 % in de, 3 % in sr): they stay.
- Languages hold from 3,289 (ru) to 26,267 rows (en); 214 stand in all 20.
- A word is translated row by row, hence into several labels: the label of most rows is taken.
"""

import io
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path, PurePosixPath

import polars as pl

from polyprobe.builder.facts.facts import ALIASES, FACTS, PROMPTS, TEMPLATES, Facts, empty
from polyprobe.builder.facts.labels import choose_labels, count_changed, count_contradictions, tidy
from polyprobe.schema.columns import SLOT
from polyprobe.system.download import Repository, parse_sums, read_files
from polyprobe.system.progress import track

from . import mpararel

LICENCE = (
    "Apache-2.0, as the repository states; facts from CounterFact and CALINET, "
    "ids linked through mParaRel, which states no licence and derives from mLAMA (CC-BY-NC-4.0)"
)
REPOSITORY = Repository(
    name="daniel-furman/Polyglot-or-Not",
    commit="9ccbffd2e098217d14de75ef4b0269b12c0d233b",
    sha256=parse_sums(files(__package__).joinpath("polyglot.sha256").read_text(encoding="utf-8")),
)
# The file of a language is named `LANGUAGE-fact-completion-DATE.parquet`.
PATHS = {PurePosixPath(path).name.partition("-")[0]: path for path in sorted(REPOSITORY.sha256)}
LANGUAGES = tuple(sorted(PATHS))
COLUMNS = ("dataset_id", "relation", "subject", "object", "true", "stem")
ENTITIES = {"dataset_id": pl.String, **FACTS, "inverted": pl.Boolean}
ENDS = ("subject", "object")
TEXTS = (*ENDS, "true", "first")
SEPARATOR = " <br> "

LISTS = "stems cut to the first of several"
UNTIDY = "rows with invisible characters or blanks around a text"
SPOILED = "answers whose case was taken from the object column"
INVERTED = "stems left out, since they ask for the subject"
ANSWERED = "stems left out, since they end in the answer"
CONTRADICTIONS = "entities with several labels in a language, that of most rows taken"
OWN_IDS = "entities without a Wikidata id"


def read_facts(mirror: Path | None, languages: Sequence[str] | None = None) -> Facts:
    """Return the facts of English, labels and prompts in the languages given, or in all."""
    asked = sorted(set(LANGUAGES if languages is None else languages))
    released = take_first_stem(read_rows(mirror, sorted({"en", *asked})))
    rows = tidy(released, TEXTS)
    entities = identify(rows.filter(language="en"), mpararel.read_facts(mirror, ["en"]))
    asked_for = pl.col("language").is_in(asked)
    found = collect(rows.filter(asked_for), entities)
    untidy = count_changed(released.filter(asked_for), rows.filter(asked_for), TEXTS)
    return found._replace(repairs=dict(sorted({**found.repairs, UNTIDY: untidy}.items())))


def read_rows(mirror: Path | None, languages: Sequence[str]) -> pl.DataFrame:
    """Return the rows as released, with the columns `language` and COLUMNS."""
    contents = read_files(REPOSITORY, [PATHS[language] for language in languages], mirror)
    pairs = zip(track(languages, "reading polyglot"), contents, strict=True)
    return pl.concat(
        pl.read_parquet(io.BytesIO(content), columns=list(COLUMNS)).select(
            pl.lit(language).alias("language"), *COLUMNS
        )
        for language, content in pairs
    )


def take_first_stem(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with the first stem as `first`, and whether there are others as `several`."""
    return rows.with_columns(
        first=pl.col("stem").str.split(SEPARATOR).list.first(),
        several=pl.col("stem").str.contains(SEPARATOR, literal=True),
    )


def identify(english: pl.DataFrame, known: Facts) -> pl.DataFrame:
    """Return ENTITIES: the ids of each row's subject and object, and which of them it asks for.

    `known` gives the Wikidata ids: its facts and English labels, by relation.
    """
    rows = english
    for end in ENDS:
        key = pl.col(end).str.to_lowercase()
        own = pl.concat_str(pl.lit("polyglot"), "relation", key, separator=":")
        rows = (
            rows.with_columns(key.alias("key"))
            .join(find_unique(known, end), on=["relation", "key"], how="left")
            .with_columns(pl.coalesce("id", own).alias(f"{end}_id"))
            .drop("id", "key")
        )
    inverted = pl.col("true") != pl.col("object")
    return rows.with_columns(inverted=inverted).select(*ENTITIES).sort("dataset_id")


def find_unique(known: Facts, end: str) -> pl.DataFrame:
    """Return `relation`, `key` (a lower-case English label) and the only `id` that has it there."""
    return (
        known.facts.select("relation", id=f"{end}_id")
        .join(known.labels.filter(language="en"), on="id")
        .group_by("relation", key=pl.col("label").str.to_lowercase())
        .agg(pl.col("id").unique())
        .filter(pl.col("id").list.len() == 1)
        .with_columns(pl.col("id").list.first())
    )


def collect(rows: pl.DataFrame, entities: pl.DataFrame) -> Facts:
    """Return the common form of the rows, and what was repaired in them."""
    whole = repair(rows.join(entities, on=["dataset_id", "relation"]))
    named = list_names(whole)
    facts = entities.select(FACTS.keys()).unique().sort(*FACTS)
    asks_object = whole.filter(~pl.col("inverted"))
    open_ended = asks_object.filter(~pl.col("ends_in_answer"))
    counts = {
        LISTS: whole["several"].sum(),
        SPOILED: whole["spoiled"].sum(),
        INVERTED: whole.height - asks_object.height,
        ANSWERED: asks_object.height - open_ended.height,
        CONTRADICTIONS: count_contradictions(named),
        OWN_IDS: count_own(facts),
    }
    return Facts(
        facts=facts,
        labels=choose_labels(named),
        aliases=empty(ALIASES),
        templates=empty(TEMPLATES),
        prompts=list_prompts(open_ended),
        repairs={reason: count for reason, count in sorted(counts.items()) if count},
    )


def repair(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with the label of what the stem asks for as `answer`.

    `spoiled` tells whether it was repaired, `ends_in_answer` whether the stem holds it.
    """
    given = pl.when("inverted").then("subject").otherwise("object")
    lower = pl.col("true").str.to_lowercase()
    same = lower == given.str.to_lowercase()
    return rows.with_columns(
        answer=pl.when(same).then(given).otherwise("true"),
        spoiled=same & (pl.col("true") != given),
        ends_in_answer=pl.col("first").str.to_lowercase().str.ends_with(lower),
    )


def list_names(rows: pl.DataFrame) -> pl.DataFrame:
    """Return LABELS with repetitions: the answer names the entity that the stem asks for."""
    subject = pl.when("inverted").then("answer").otherwise("subject")
    thing = pl.when("inverted").then("object").otherwise("answer")
    ends = zip(ENDS, (subject, thing), strict=True)
    return pl.concat(
        rows.select("language", pl.col(f"{end}_id").alias("id"), label.alias("label"))
        for end, label in ends
    )


def list_prompts(rows: pl.DataFrame) -> pl.DataFrame:
    """Return PROMPTS: the stem, a blank, the slot, a full stop (upstream: for masked models)."""
    prompt = pl.concat_str("first", pl.lit(f" {SLOT}."))
    return rows.select("language", *FACTS, prompt=prompt, form="answer").unique().sort(*PROMPTS)


def count_own(facts: pl.DataFrame) -> int:
    """Return how many subjects and objects have an id that is not Wikidata's."""
    ids = pl.concat([facts["subject_id"], facts["object_id"]]).unique()
    return int(ids.str.starts_with("polyglot:").sum())
