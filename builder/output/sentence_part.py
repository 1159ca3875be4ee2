"""The notes of a sentence version in its Parquet files, and its part of the card."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from polyprobe.schema.columns import split_name

from .tables import Config, markdown_table

if TYPE_CHECKING:  # polars is an extra
    import polars as pl

HEAD = ("language", "asked", "translated", "found", "last", "costs", "kept", "kept last")
MEANING = """\
*Translated* are the rows for which the translator gave a sentence, *found* those in which the \
answer stood, *last* those of them with nothing but punctuation behind it; *costs* are those that \
every other language has and this one lacks; *kept* are those that all have, of a fact told in \
several templates all rows or none."""
INTRODUCTION = """

## Sentences instead of templates

A configuration `C-sentence` is the twin of `C`: the same facts, answers and candidates by id, \
matched by `fact_id`, told in sentences that were translated as a whole. In the source language \
the sentence is the template filled with the answer's label (of several answers, the first); a \
translator renders it, so that words are inflected as the language asks; the answer is looked for \
in what came, and its place becomes `[Y]`.

- `candidates[answer]` is the form that stood in the sentence; `answer_forms` has the label too.
- Distractors take the form in which the same entity stood as an answer in another sentence of the \
relation in this run, the most frequent one: where the answer is inflected one that is; where it \
is not although it is elsewhere, none. Without such a form they keep their labels. Where the \
answer has a capital letter that its label has not, all candidates do.
- A fact is there if it was found in every language, in each of its templates. One whose object \
does not stand last is kept, and `object_last` is false. What became of every row, and why it was \
lost, stands in `sentences/C-sentence.parquet`.

"""


STALE = "**Out of date**: `{}` is not what this twin was made of; build it again by the line above."
PARTIAL = "rows that all have are left out, since another row of their fact is lost."


class SentenceSettings(NamedTuple):
    """All settings that a twin's rows depend on, apart from its base configuration.

    `translator` is the signature of the engine, `lemmatizers` {language: lemmatizer}.
    """

    twin_of: str
    source_language: str
    languages: tuple[str, ...]
    translator: str
    lemmatizers: dict[str, str]
    threshold: float


class SentenceNotes(NamedTuple):
    """How a twin was built; `costs` and `lost` as in `recipes/sentences/common.py`.

    `rows` counts the kept rows. `base` is the `hash_base` of the base splits. `partial` counts rows
    found in every language but left out because another row of their fact is lost.
    """

    settings: SentenceSettings
    command: str
    base: str
    partial: int
    rows: int
    costs: "pl.DataFrame"
    lost: "pl.DataFrame"


def dump(notes: SentenceNotes) -> str:
    """Return the notes as JSON, for the metadata of the Parquet files."""
    shown = {
        **notes.settings._asdict(),
        "command": notes.command,
        "base": notes.base,
        "partial": notes.partial,
        "rows": notes.rows,
        "costs": notes.costs.rows(),
        "lost": notes.lost.rows(),
    }
    return json.dumps(shown, ensure_ascii=False)


def read_settings(notes: dict[str, Any]) -> SentenceSettings | None:
    """Return the settings in the notes of a sentence version; None if there are none."""
    if not set(SentenceSettings._fields) <= set(notes):
        return None
    settings = SentenceSettings(**{name: notes[name] for name in SentenceSettings._fields})
    return settings._replace(languages=tuple(settings.languages))


def is_sentence_version(config: Config) -> bool:
    """Return whether a configuration is a sentence version built by polyprobe."""
    return "twin_of" in config.notes


def hash_base(folder: Path, config: str, languages: Iterable[str]) -> str:
    """Return a hash of a configuration's files in some languages; "" if one is missing."""
    digest = hashlib.sha256()
    for language in sorted(languages):
        file = folder / "data" / config / f"{split_name(language)}.parquet"
        if not file.is_file():
            return ""
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def describe(configs: Sequence[Config], folder: Path) -> dict[str, str]:
    """Return the part of the card on the twins in a folder, empty without one."""
    twins = [describe_version(config, folder) for config in configs if is_sentence_version(config)]
    return {"sentences": INTRODUCTION + "\n\n".join(twins) if twins else ""}


def is_stale(notes: dict[str, Any], folder: Path) -> bool:
    """Return whether the base configuration changed after the sentence version was built."""
    languages = [notes["source_language"], *notes["languages"]]
    return notes.get("base") not in (None, hash_base(folder, notes["twin_of"], languages))


def describe_version(config: Config, folder: Path) -> str:
    """Return the command, the cost of each language, and the reasons for lost rows."""
    notes = config.notes
    named = [f"{language}: {name}" for language, name in notes["lemmatizers"].items()]
    costs = [(language, *(f"{n:,}" for n in counts)) for language, *counts in notes["costs"]]
    parts = [
        f"### `{config.name}`",
        f"```\n{notes['command']}\n```",
        *([STALE.format(notes["twin_of"])] if is_stale(notes, folder) else []),
        f"{notes['rows']:,} of {notes['costs'][0][1]:,} rows. Translator: `{notes['translator']}`. "
        f"Lemmatiser: {', '.join(named)}. Least likeness of object and label: "
        f"{notes['threshold']:g} of 100.",
        markdown_table(HEAD, costs),
        MEANING,
    ]
    if notes.get("partial"):
        parts.append(f"{notes['partial']:,} {PARTIAL}")
    if notes["lost"]:
        lost = [(language, status, f"{rows:,}") for language, status, rows in notes["lost"]]
        parts.append(markdown_table(("language", "lost for", "rows"), lost))
    return "\n\n".join(parts)
