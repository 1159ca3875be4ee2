"""Counts of a language's patterns and tuples, and their tables on the card."""

import re
from collections.abc import Sequence

import polars as pl

from polyprobe.builder.facts import is_template
from polyprobe.builder.output.config import Config
from polyprobe.builder.output.tables import markdown_table
from polyprobe.builder.sources.mpararel import repair_pattern
from polyprobe.metrics.shared.subjects import find_repeated

Counts = dict[str, int]
WORDLESS = re.compile(r"\[[XY]\]|[\W_]")
SIZES = ("relations", "templates", "reviewed", "tuples", "rows", "kept")
VOTES = ("agreed", "released", "common", "by_two")
DEFECTS = {
    "brackets": "templates with a bracket that is not a slot",
    "twins": "templates that equal an earlier one of the relation without these brackets",
    "wordless": "templates without a word besides the slots",
    "capitals": "templates with a capital letter besides the slots",
    "stops": "templates that end in a full stop",
    "objects_by_id": "tuples whose subject has several objects in the relation, by ids",
    "objects_by_label": "such tuples by the released rule: labels up to the first hyphen",
    "same_labels": "tuples with both labels of an earlier tuple of the relation",
    "same_ends": "tuples whose subject and object have the same label",
    "blanks": "labels with surrounding spaces",
    "unasked": "tuples of relations without templates, which are no rows",
}
"""The counts that are defects, and their meanings; `tuples` are those with templates."""


def count_patterns(patterns: pl.DataFrame) -> Counts:
    """Return the counts of the columns of `mpararel.read_patterns`."""
    texts = patterns["pattern"].to_list()
    repaired = patterns.select(
        "relation", text=pl.Series(map(repair_pattern, texts), dtype=pl.String)
    )
    bare = [re.sub(r"\[[XY]\]", "", text) for text in texts]
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


def count_tuples(tuples: pl.DataFrame, patterns: pl.DataFrame) -> Counts:
    """Return the counts of the tuples of relations with patterns, and of the others (`unasked`).

    `unique` are the rows without repeated subjects, by the released rule.
    """
    part = tuples.join(patterns.select("relation").unique(), on="relation", how="semi")
    subject, label = part["sub_label"], part["obj_label"]
    repeated = find_repeated(subject.to_list(), label.to_list(), part["relation"].to_list())
    objects = pl.col("obj_uri").n_unique().over("relation", "sub_uri")
    ends = pl.concat([subject, label])
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


def describe_audit(configs: Sequence[Config]) -> dict[str, str]:
    """Return the tables of sizes and of the defects found, one line for each configuration."""
    counts = {config.name: config.notes["counts"] for config in configs}
    total = {name: sum(part[name] for part in counts.values()) for name in (*SIZES, *DEFECTS)}
    english = counts.get("en", {}).get("rows", 0)
    defects = [defect for defect in DEFECTS if total[defect]]
    sizes = [(name, part, _share(part["rows"], english)) for name, part in counts.items()]
    return {
        "sizes": markdown_table(
            ("configuration", *SIZES, "rows, % of en"),
            [
                *((f"`{name}`", *_cells(part, SIZES), share) for name, part, share in sizes),
                ("all", "–", *_cells(total, SIZES[1:]), "–"),
            ],
        ),
        "defects": markdown_table(
            ("configuration", *defects),
            [
                *((f"`{name}`", *_cells(part, defects)) for name, part in counts.items()),
                ("all", *_cells(total, defects)),
            ],
        ),
        "meanings": "\n".join(
            f"- `{name}`: {text}" + ("" if total[name] else " (none)")
            for name, text in DEFECTS.items()
        ),
        "votes": describe_votes(configs),
    }


def describe_votes(configs: Sequence[Config]) -> str:
    """Return the table of agreed and released templates, '' without translated configurations."""
    votes = {config.name: config.notes["votes"] for config in configs if "votes" in config.notes}
    if not votes:
        return ""
    total = {name: sum(part[name] for part in votes.values()) for name in VOTES}
    rows = [(f"`{name}`", *_cells(part, VOTES)) for name, part in votes.items()]
    rows.append(("all", *_cells(total, VOTES)))
    return "\n\n" + markdown_table(("configuration", *VOTES), rows)


def _cells(counts: Counts, names: Sequence[str]) -> list[str]:
    return [f"{counts[name]:,}" for name in names]


def _share(part: int, total: int) -> str:
    return f"{100 * part / total:.2f}" if total else "–"
