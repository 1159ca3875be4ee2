"""What a sentence-level twin tells of itself: notes in its Parquet files, a part of the card."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .card_tables import Config, markdown_table

if TYPE_CHECKING:  # polars is an extra
    import polars as pl

HEAD = ("language", "asked", "translated", "found", "last", "costs", "kept", "kept last")
MEANING = """\
*Translated* are the rows for which the translator gave a sentence, *found* those in which the \
answer stood, *last* those of them with nothing but punctuation behind it; *costs* are those that \
every other language has and this one lacks; *kept* are those that all have."""
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
- A fact is there if it was found in every language. One whose object does not stand last is kept, \
and `object_last` is false. What became of every row, and why it was lost, stands in \
`sentences/C-sentence.parquet`.

"""


class Settings(NamedTuple):
    """All that a twin's rows depend on beside those of its configuration.

    `translator` is the signature of the engine, `lemmatizers` {language: the one used}.
    """

    twin_of: str
    source_language: str
    languages: tuple[str, ...]
    translator: str
    lemmatizers: dict[str, str]
    threshold: float


class Notes(NamedTuple):
    """How a twin came about: `rows` are kept; `costs` and `lost` as in `sentences/balance.py`."""

    settings: Settings
    command: str
    rows: int
    costs: "pl.DataFrame"
    lost: "pl.DataFrame"


def dump(notes: Notes) -> str:
    """Return the notes as JSON, for the metadata of the Parquet files."""
    shown = {
        **notes.settings._asdict(),
        "command": notes.command,
        "rows": notes.rows,
        "costs": notes.costs.rows(),
        "lost": notes.lost.rows(),
    }
    return json.dumps(shown, ensure_ascii=False)


def read_settings(notes: dict[str, Any]) -> Settings | None:
    """Return the settings that a twin's notes tell, None where they tell none."""
    if not set(Settings._fields) <= set(notes):
        return None
    settings = Settings(**{name: notes[name] for name in Settings._fields})
    return settings._replace(languages=tuple(settings.languages))


def is_twin(config: Config) -> bool:
    """Tell whether a configuration is a sentence-level twin that we made."""
    return "twin_of" in config.notes


def describe(configs: Sequence[Config]) -> dict[str, str]:
    """Return the part of the card that speaks of twins, empty where there is none."""
    twins = [config for config in configs if is_twin(config)]
    text = INTRODUCTION + "\n\n".join(map(describe_twin, twins)) if twins else ""
    return {"sentences": text}


def describe_twin(config: Config) -> str:
    """Return how one twin was made, what each language cost, and what rows were lost to."""
    notes = config.notes
    named = [f"{language}: {name}" for language, name in notes["lemmatizers"].items()]
    costs = [(language, *(f"{n:,}" for n in counts)) for language, *counts in notes["costs"]]
    parts = [
        f"### `{config.name}`",
        f"```\n{notes['command']}\n```",
        f"{notes['rows']:,} of {notes['costs'][0][1]:,} rows. Translator: `{notes['translator']}`. "
        f"Lemmatiser: {', '.join(named)}. Least likeness of object and label: "
        f"{notes['threshold']:g} of 100.",
        markdown_table(HEAD, costs),
        MEANING,
    ]
    if notes["lost"]:
        lost = [(language, status, f"{rows:,}") for language, status, rows in notes["lost"]]
        parts.append(markdown_table(("language", "lost for", "rows"), lost))
    return "\n\n".join(parts)
