"""Build mpararel: the tuples and patterns of Fierro and Søgaard (arXiv:2203.11552), as released.

The rows are every tuple of the language in every pattern of its relation, with its object as the
only candidate. `LANG-translated` has the same tuples in the templates on which the released machine
translations agree, as in section 3 of the paper; details that it does not state (how wordings are
compared, and that translations of any template of a relation agree) are inferred from the release.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa

from polyprobe.builder.facts import SUBJECT, is_template
from polyprobe.builder.output.folder import NOTES, Config, markdown_table
from polyprobe.builder.recipes import TRANSLATED
from polyprobe.builder.sources import mpararel
from polyprobe.builder.translators.templates import count_votes
from polyprobe.schema.columns import SLOT
from polyprobe.schema.run.protocol import find_repeated
from polyprobe.system.files import read_toml

DEFAULT_CONFIG = "en"
TRUSTED = ("bing",)
SLOTS = {SUBJECT: re.compile(r"\[\s*x\s*\]"), SLOT: re.compile(r"\[\s*y\s*\]")}
STRIPPED = re.compile(r"[.:。]")
WORDLESS = re.compile(r"\[[XY]\]|[\W_]")
SIZES = ("relations", "templates", "reviewed", "tuples", "rows", "kept")
VOTES = ("agreed", "released", "common", "by_two")
DEFECTS = read_toml(__package__, "defects.toml")


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


def vote_for_templates(mirror: Path | None, language: str) -> pl.DataFrame:
    """Return the templates of a language with two votes, in the columns of `read_patterns`."""
    # The templates of a relation are in order of first occurrence, translator by translator.
    # `translators` has the names of those that give the wording.
    english = mpararel.read_patterns(mirror, "en")["relation"].unique()
    translations = mpararel.read_translations(mirror, language).filter(
        pl.col("relation").is_in(english.to_list())
    )
    wordings = [read_wording(text) for text in translations["pattern"]]
    rows = translations.with_columns(pattern=pl.Series(wordings, dtype=pl.String))
    keys = ["relation", "pattern"]
    number = pl.int_range(pl.len()).over("relation")
    votes = count_votes(rows.filter(pl.col("pattern") != ""), keys, TRUSTED).filter("valid")
    distinct = votes.unique(keys, keep="first", maintain_order=True)
    return distinct.sort("relation", maintain_order=True).select(
        "relation",
        template_id=pl.format("mpararel-votes:{}:{}", "relation", number),
        pattern="pattern",
        reviewed=pl.lit(None, pl.Boolean),
        translators="voters",
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
    valid = text.count(SUBJECT) == text.count(SLOT) == 1 and WORDLESS.sub("", text)
    return text if valid else ""


def compare_votes(agreed: pl.DataFrame, released: pl.DataFrame) -> dict[str, int]:
    """Return the counts of a language: agreed templates, released ones, and those in common."""
    # `by_two`: released templates that two translators give, without double votes
    common = released.join(agreed, on=["relation", "pattern"])
    return {
        "agreed": agreed.height,
        "released": released.height,
        "common": common.select("relation", "pattern").n_unique(),
        "by_two": int((common["translators"].list.len() > 1).sum()),
    }


def fill_patterns(tuples: pl.DataFrame, patterns: pl.DataFrame) -> pl.DataFrame:
    """Return the rows: every tuple in every pattern of its relation, with `[X]` exactly once."""
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


def count_patterns(patterns: pl.DataFrame) -> dict[str, int]:
    """Return the counts of the columns of `mpararel.read_patterns`."""
    texts = patterns["pattern"].to_list()
    wordings = pl.Series("text", map(mpararel.repair_pattern, texts), pl.String)
    repaired = patterns.select("relation", wordings)
    bare = [text.replace(SUBJECT, "").replace(SLOT, "") for text in texts]
    return {
        "relations": patterns["relation"].n_unique(),
        "templates": len(texts),
        "reviewed": int(patterns["reviewed"].sum()),
        "brackets": sum(not is_template(text) for text in texts),
        "twins": len(texts) - repaired.n_unique(),
        "wordless": sum(not WORDLESS.sub("", text) for text in texts),
        "capitals": sum(text != text.lower() for text in bare),
        "stops": sum(text.rstrip().endswith((".", "。")) for text in texts),
    }


def count_tuples(tuples: pl.DataFrame, patterns: pl.DataFrame) -> dict[str, int]:
    """Return the counts of the tuples of relations with patterns, and of the others (`unasked`)."""
    part = tuples.join(patterns.select("relation").unique(), on="relation", how="semi")
    subject, label = part["sub_label"], part["obj_label"]
    repeated = find_repeated(subject.to_list(), label.to_list(), part["relation"].to_list())
    objects = pl.col("obj_uri").n_unique().over("relation", "sub_uri")
    ends = pl.concat([subject, label])
    # Repeated subjects are left out by the released rule.
    unique = part.filter(pl.Series(~(repeated.subject | repeated.twin), dtype=pl.Boolean))
    return {
        "kept": unique.join(patterns, on="relation").height,
        "tuples": part.height,
        "unasked": tuples.height - part.height,
        "objects_by_id": int(part.select(objects > 1).to_series().sum()),
        "objects_by_label": int((repeated.subject & ~repeated.twin).sum()),
        "same_labels": int(repeated.twin.sum()),
        "same_ends": int((subject == label).sum()),
        "blanks": int((ends != ends.str.strip_chars()).sum()),
    }


def describe(configs: Sequence[Config]) -> dict[str, str]:
    """Return the dataset's own parts of the card: sizes and defects by language."""
    counts = {config.name: config.notes["counts"] for config in configs}
    total = {name: sum(part[name] for part in counts.values()) for name in (*SIZES, *DEFECTS)}
    english = counts.get("en", {}).get("rows", 0)
    defects = [defect for defect in DEFECTS if total[defect]]
    sizes = []
    for name, part in counts.items():
        share = f"{100 * part['rows'] / english:.2f}" if english else "–"
        sizes.append((f"`{name}`", *(part[size] for size in SIZES), share))
    sizes.append(("all", "–", *(total[size] for size in SIZES[1:]), "–"))
    votes = {config.name: config.notes["votes"] for config in configs if "votes" in config.notes}
    meanings = (f"- `{x}`: {text}" + ("" if total[x] else " (none)") for x, text in DEFECTS.items())
    return {
        "sizes": markdown_table(("configuration", *SIZES, "rows, % of en"), sizes),
        "defects": sum_counts(counts, defects),
        "meanings": "\n".join(meanings),
        "votes": f"\n\n{sum_counts(votes, VOTES)}" if votes else "",
    }


def sum_counts(counts: Mapping[str, Mapping[str, int]], names: Sequence[str]) -> str:
    """Return the table of some counts, a line for each configuration and one for all."""
    rows = [(f"`{config}`", *(part[x] for x in names)) for config, part in counts.items()]
    rows.append(("all", *(sum(part[x] for part in counts.values()) for x in names)))
    return markdown_table(("configuration", *names), rows)
