"""Build a sentence version of a configuration: request, base rows, translations, kept rows."""

import json
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa

from polyprobe.builder.objects.find import find_objects
from polyprobe.builder.objects.lemmatizers import load_lemmatizer
from polyprobe.builder.output.config import hash_base, read_parquet
from polyprobe.builder.output.folder import write_card, write_config, write_split
from polyprobe.builder.recipes import list_recipe_configs, load_recipe
from polyprobe.builder.recipes.requests import SentenceRequest
from polyprobe.builder.translators import Translator
from polyprobe.schema.columns import SCHEMA, SENTENCES, SLOT, Row
from polyprobe.schema.languages import refuse_languages
from polyprobe.system.files import write_whole
from polyprobe.system.messages import PolyprobeError, explain_missing_extras

from .outcomes import (
    FOUND,
    OUTCOMES,
    UNTRANSLATED,
    Inflected,
    Outcome,
    inflect_candidates,
    keep_source,
    translate_rows,
)

Base = dict[str, list[Row]]
COUNTS = ("asked", "translated", "found", "last", "alone", "kept", "kept_last")
COSTS = {"language": pl.String, **dict.fromkeys(COUNTS, pl.Int64)}
LOST = {"language": pl.String, "status": pl.String, "rows": pl.Int64}


class SentenceSettings(NamedTuple):
    """All settings that the rows depend on; `lemmatizers` is {language: lemmatizer}."""

    twin_of: str
    source_language: str
    languages: tuple[str, ...]
    translator: str
    lemmatizers: dict[str, str]
    threshold: float


class SentenceNotes(NamedTuple):
    """How a sentence version was built."""

    settings: SentenceSettings
    command: str
    base: str  # `hash_base` of the base splits
    partial: int  # rows found in every language, without another row of their fact
    rows: int
    costs: pl.DataFrame  # COSTS
    lost: pl.DataFrame  # LOST


def read_base(folder: Path, config: str) -> Base:
    """Return {language: rows} of a configuration on disk; refuse rows that are not parallel."""
    base = {}
    for path in sorted((folder / "data" / config).glob("*.parquet")):
        rows = read_parquet(path).select(SCHEMA.names).to_pylist()
        base[path.stem.replace("_", "-")] = [Row(**row) for row in rows]
    first = next(iter(base))
    keys = {x: [(row.fact_id, row.answers, len(row.candidates)) for row in base[x]] for x in base}
    for language in base:
        if keys[language] != keys[first]:
            raise PolyprobeError(
                f"{folder}/{config}: the splits {first} and {language} are not parallel; build it "
                "again"
            )
    return base


def choose_targets(base: Base, request: SentenceRequest) -> tuple[str, ...]:
    """Return the target languages, sorted: the requested ones (default: all) but the source."""
    source = request.source_language
    place = f"{request.dataset}/{request.config}"
    refuse_languages((source, *request.languages), place, base)
    targets = sorted({*(request.languages or base)} - {source})
    if not targets:
        raise PolyprobeError(
            f"nothing to translate: {source} is the source language; name others with --languages"
        )
    return tuple(targets)


def find_settings(request: SentenceRequest, translator: Translator) -> SentenceSettings:
    """Return all settings that change the rows; PolyprobeError for an unsupported language."""
    source, languages = request.source_language, request.languages
    with explain_missing_extras(f"the translator {translator.name}", any_package=True):
        signs = [translator.sign(*translator.check(source, target)) for target in languages]
    sign = "; ".join(dict.fromkeys(signs)) or translator.signature
    kind, folder = request.lemmatizer, request.stanza_dir
    lemmatizers = {language: load_lemmatizer(kind, language, folder).name for language in languages}
    threshold = float(request.threshold)
    return SentenceSettings(request.config, source, languages, sign, lemmatizers, threshold)


def translate(request: SentenceRequest, base: Base, translator: Translator) -> dict[str, Inflected]:
    """Return the outcomes and candidates of each language, the source language first."""
    options = {x: getattr(request, x) for x in ("lemmatizer", "stanza_dir", "threshold")}
    find = partial(find_objects, **options)
    source = request.source_language
    rows = base[source]
    inflected = {source: keep_source(rows, source)}
    for language in request.languages:
        outcomes = translate_rows((source, rows), (language, base[language]), translator, find)
        inflected[language] = inflect_candidates(base[language], outcomes)
    return inflected


def write_version(
    folder: Path,
    request: SentenceRequest,
    settings: SentenceSettings,
    base: Base,
    inflected: Mapping[str, Inflected],
) -> SentenceNotes:
    """Write the table of outcomes, the sentence version and the card; return the notes."""
    path = folder / "sentences" / f"{request.name}.parquet"
    outcomes = [outcome._asdict() for part in inflected.values() for outcome in part.outcomes]
    table = pa.Table.from_pylist(outcomes, schema=OUTCOMES)
    write_whole(path, partial(write_split, table), "its old content is unchanged")
    common = set.intersection(*(set(part.candidates) for part in inflected.values()))
    # Rows of a fact are matched by their number within it, which a missing row would shift.
    rows = base[request.source_language]
    incomplete = {row.fact_id for number, row in enumerate(rows) if number not in common}
    numbers = [number for number in sorted(common) if rows[number].fact_id not in incomplete]
    lost = count_lost(inflected)
    if not numbers:
        counts = ", ".join(f"{language} {status} {n}" for language, status, n in lost.iter_rows())
        text = f"no fact of {request.config} was found in every language ({counts}); see {path}"
        raise PolyprobeError(text)
    sign = hash_base(folder, request.config, base.keys() & inflected.keys())
    sizes = len(common) - len(numbers), len(numbers)
    costs = count_costs(inflected, numbers)
    notes = SentenceNotes(settings, request.command, sign, *sizes, costs, lost)
    fields = {**settings._asdict(), **notes._asdict()}
    del fields["settings"]
    text = json.dumps(fields, ensure_ascii=False, default=pl.DataFrame.rows)
    write_config(folder, request.name, make_tables(base, inflected, numbers), text)
    recipe = load_recipe(request.dataset)
    write_card(folder, request.dataset, list_recipe_configs(request.dataset), recipe)
    return notes


def count_lost(inflected: Mapping[str, Inflected]) -> pl.DataFrame:
    """Return the number of lost rows by language and status (LOST), the most frequent first."""
    lines = [
        (language, status, count)
        for language, part in inflected.items()
        for status, count in Counter(outcome.status for outcome in part.outcomes).most_common()
        if status != FOUND
    ]
    return pl.DataFrame(lines, LOST, orient="row")


def count_costs(inflected: Mapping[str, Inflected], numbers: Sequence[int]) -> pl.DataFrame:
    """Return the cost of each language (COSTS), in rows."""
    # `asked`, `translated`, `found` and `last` (found, with the object last) count the language's
    # own rows. `alone` counts the rows missing only in this language: without it, the set would
    # have as many more. `kept` and `kept_last` count rows of the set.
    lines = []
    for language, part in inflected.items():
        last = {number for number in part.candidates if is_last(open_slot(part.outcomes[number]))}
        rest = [set(peer.candidates) for name, peer in inflected.items() if name != language]
        translated = sum(outcome.status not in UNTRANSLATED for outcome in part.outcomes)
        gain = len(set.intersection(*rest) - set(part.candidates))
        of_language = (len(part.outcomes), translated, len(part.candidates), len(last), gain)
        lines.append((language, *of_language, len(numbers), len(last.intersection(numbers))))
    return pl.DataFrame(lines, COSTS, orient="row")


def is_last(prompt: str) -> bool:
    """Return whether only punctuation and spaces follow the slot.

    >>> is_last("Die Hauptstadt ist [Y]."), is_last("[Y] ist die Hauptstadt.")
    (True, False)
    """
    rest = prompt.partition(SLOT)[2]
    return all(letter.isspace() or unicodedata.category(letter)[0] == "P" for letter in rest)


def open_slot(outcome: Outcome) -> str:
    """Return the translation with the slot in place of the object."""
    text = outcome.translation
    return text[: outcome.start] + SLOT + text[outcome.end :]


def make_tables(
    base: Base, inflected: Mapping[str, Inflected], numbers: Sequence[int]
) -> dict[str, pa.Table]:
    """Return {language: table of SENTENCES} of the kept rows, aligned by row number."""
    tables = {}
    for language, part in inflected.items():
        rows = []
        for number in numbers:
            outcome = part.outcomes[number]
            prompt = open_slot(outcome)
            values: dict[str, Any] = {"prompt": prompt, "candidates": part.candidates[number]}
            values["answer_forms"] = [*dict.fromkeys((outcome.label, outcome.form))]
            values |= {"object_last": is_last(prompt), "confidence": outcome.score}
            rows.append(base[language][number]._asdict() | values)
        tables[language] = pa.Table.from_pylist(rows, schema=SENTENCES)
    return tables
