"""What a balanced set's card says beside the common tables: how each configuration was made."""

import json
from collections.abc import Sequence
from typing import Any

from .balanced import Notes
from .card_tables import Config, markdown_table


def dump(notes: Notes) -> str:
    """Return the notes as JSON, for the metadata of the Parquet files."""
    shown = {
        "command": notes.command,
        "source_facts": notes.source_facts,
        "rows": notes.rows,
        "left_out": notes.left_out.rows(),
        "lent": notes.lent,
        "repairs": notes.repairs,
        "costs": notes.costs.filter(notes.costs["asked"]).select("language", "facts").rows(),
        "sources": [list(source) for source in notes.sources],
    }
    return json.dumps(shown, ensure_ascii=False)


def describe(configs: Sequence[Config]) -> dict[str, str]:
    """Return the parts of the card that only balanced sets have."""
    return {"builds": "\n\n".join(describe_build(config) for config in configs)}


def describe_build(config: Config) -> str:
    """Return how one configuration was made: command, sources, what was left out and why."""
    notes = config.notes
    lent = [f"{count:,} labels of {source}" for source, count in notes["lent"].items()]
    parts = [
        f"### `{config.name}`",
        f"```\n{notes['command']}\n```",
        f"{notes['rows']:,} of {notes['source_facts']:,} facts of the source"
        + (f", with {' and '.join(lent)} in all languages." if lent else "."),
        sources_table(notes),
        left_out_table(notes),
        *repairs_table(notes),
        "Facts left as languages are added, the one that costs least at each step: "
        + ", ".join(f"{language} {facts:,}" for language, facts in notes["costs"])
        + ".",
    ]
    return "\n\n".join(parts)


def sources_table(notes: dict[str, Any]) -> str:
    """Return one line a source: what it gave, its commit, its licence as it states it."""
    rows = [
        (name, role, home, f"`{commit[:12]}`" if commit else "", licence)
        for name, role, home, commit, licence in notes["sources"]
    ]
    return markdown_table(("source", "gave", "home", "commit", "licence"), rows)


def left_out_table(notes: dict[str, Any]) -> str:
    """Return one line a reason for which facts were left out, and where it struck."""
    rows = [(reason, where, f"{facts:,}") for reason, where, facts in notes["left_out"]]
    return markdown_table(("left out for", "where", "facts"), rows)


def repairs_table(notes: dict[str, Any]) -> list[str]:
    """Return what was mended in the source's files, in all its languages; nothing if nothing."""
    rows = [(what, f"{count:,}") for what, count in notes["repairs"].items() if count]
    return [markdown_table(("mended or passed over in the source", "times"), rows)] if rows else []
