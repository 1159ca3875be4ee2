"""The balanced sets' part of the dataset card: how each configuration was built."""

import json
from collections.abc import Sequence
from typing import Any

from polyprobe.builder.output.tables import Config, markdown_table

from .build import Notes

PARAPHRASES = (
    " With `--templates N` the fact has a row for each of its relation's first N templates, or for "
    "as many as every language has (equal texts are one); a sentence of its own stays its only "
    "row. The rows of a fact stand together, in the source's order of templates: the same row in "
    "another language is the same fact, but no translation of the template."
)


def dump(notes: Notes) -> str:
    """Return the notes as JSON, for the metadata of the Parquet files."""
    several = (
        {"facts": notes.facts, "told": notes.used_templates.rows()}
        if notes.used_templates.height
        else {}
    )
    shown = {
        "command": notes.command,
        "source_facts": notes.source_facts,
        "rows": notes.rows,
        **several,
        "left_out": notes.left_out.rows(),
        "lent": notes.borrowed,
        "repairs": notes.repairs,
        "costs": notes.costs.filter(notes.costs["asked"]).select("language", "facts").rows(),
        "sources": [list(source) for source in notes.sources],
    }
    return json.dumps(shown, ensure_ascii=False)


def describe(configs: Sequence[Config]) -> dict[str, str]:
    """Return the parts of the card that only balanced sets have."""
    return {
        "builds": "\n\n".join(describe_build(config) for config in configs),
        "paraphrases": PARAPHRASES if any("told" in config.notes for config in configs) else "",
    }


def describe_build(config: Config) -> str:
    """Return a section on one configuration: command, sources, and excluded facts by reason."""
    notes = config.notes
    lent = [f"{count:,} labels of {source}" for source, count in notes["lent"].items()]
    parts = [
        f"### `{config.name}`",
        f"```\n{notes['command']}\n```",
        f"{notes.get('facts', notes['rows']):,} of {notes['source_facts']:,} facts of the source"
        + (f", with {' and '.join(lent)} in all languages." if lent else "."),
        *templates_table(notes),
        sources_table(notes),
        left_out_table(notes),
        *repairs_table(notes),
        "Facts left as languages are added, the one that costs least at each step: "
        + ", ".join(f"{language} {facts:,}" for language, facts in notes["costs"])
        + ".",
    ]
    return "\n\n".join(parts)


def templates_table(notes: dict[str, Any]) -> list[str]:
    """Return a text and a table on facts with several rows; an empty list if there are none."""
    if "told" not in notes:
        return []
    rows = [(relation, *(f"{n:,}" for n in counts)) for relation, *counts in notes["told"]]
    text = (
        f"{notes['rows']:,} rows a language: a fact has one for each template of its relation, "
        "with the same `fact_id` and the same candidates. Accuracy, RankC and COverlap count rows, "
        "so a fact counts as often as it has templates; `polyprobe metrics RUN --cluster subject` "
        "draws its rows together for the intervals, and mParaRel's consistency compares them."
    )
    return [text, markdown_table(("relation", "templates", "facts", "rows"), rows)]


def sources_table(notes: dict[str, Any]) -> str:
    """Return one line for each source: its contribution, commit, and licence as it states it."""
    rows = [
        (name, role, home, f"`{commit[:12]}`" if commit else "", licence)
        for name, role, home, commit, licence in notes["sources"]
    ]
    return markdown_table(("source", "gave", "home", "commit", "licence"), rows)


def left_out_table(notes: dict[str, Any]) -> str:
    """Return one line for each reason of exclusion and the language or relation concerned."""
    rows = [(reason, where, f"{facts:,}") for reason, where, facts in notes["left_out"]]
    return markdown_table(("left out for", "where", "facts"), rows)


def repairs_table(notes: dict[str, Any]) -> list[str]:
    """Return the table of repairs to the source's files, in all its languages; [] if none."""
    rows = [(what, f"{count:,}") for what, count in notes["repairs"].items() if count]
    return [markdown_table(("mended or passed over in the source", "times"), rows)] if rows else []
