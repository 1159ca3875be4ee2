"""The templates of BMLAMA, recovered from its prompts, and our replacements for wrong ones."""

import tomllib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from importlib.resources import files

from polyprobe.schema.columns import Row

SUBJECT = "[X]"


def list_replacements(config: str) -> dict[str, dict[str, str]]:
    """Return {relation: {language: our template}} for the wrong templates of `17` or `53`."""
    path = files(__package__).joinpath("templates.toml")
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    of_53 = tables.pop("53")
    own = of_53 if config == "53" else {}
    return {relation: table | own.get(relation, {}) for relation, table in tables.items()}


def recover_templates(
    config: str, rows: Mapping[str, Sequence[Row]]
) -> list[tuple[str, str, str, str]]:
    """Return the rows of `facts.TEMPLATES` for published rows; ours replace wrong templates.

    A published template is the most frequent prompt of a relation with `[X]` for the subject.
    """
    ours = list_replacements(config)
    found = []
    for language, part in rows.items():
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for row in part:
            counts[row.relation][row.prompt.replace(row.subject, SUBJECT)] += 1
        for relation, templates in counts.items():
            template, _ = templates.most_common(1)[0]
            replaced = ours.get(relation, {}).get(language)
            name = f"polyprobe:{relation}" if replaced else f"bmlama:{relation}:0"
            found.append((language, relation, name, replaced or template))
    return found
