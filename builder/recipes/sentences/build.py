"""Build a sentence version of a configuration: rows, translations, objects, files, card."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from polyprobe.builder.objects.lemmatizers import load_lemmatizer
from polyprobe.builder.output import sentence_part as sentence_card
from polyprobe.builder.output.card import is_built, read_config
from polyprobe.builder.output.folder import list_known, write_card
from polyprobe.builder.output.sentence_part import SentenceNotes, SentenceSettings
from polyprobe.builder.output.write import write_tables
from polyprobe.builder.recipes.table import list_own, load_describer
from polyprobe.builder.translators import Translator, load_translator
from polyprobe.builder.translators.translator import packages_explained
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.progress import track

from .base import Base
from .forms import Inflected, inflect_candidates, keep_candidates
from .outcomes import write_outcomes
from .request import SentenceRequest
from .translate import keep_source, translate_rows


def prepare_translator(translator: str | Translator, options: Mapping[str, str]) -> Translator:
    """Return the translator with this name, or the given translator."""
    return load_translator(translator, **options) if isinstance(translator, str) else translator


def find_settings(
    request: SentenceRequest, translator: Translator, stanza_dir: Path | None
) -> SentenceSettings:
    """Return all settings that change the rows; PolyprobeError for an unsupported language."""
    own = request.source_language
    with packages_explained(translator.name):
        signs = [translator.sign(*translator.check(own, other)) for other in request.languages]
    return SentenceSettings(
        twin_of=request.config,
        source_language=own,
        languages=request.languages,
        translator="; ".join(dict.fromkeys(signs)) or translator.signature,
        lemmatizers={
            language: load_lemmatizer(request.lemmatizer, language, stanza_dir).name
            for language in request.languages
        },
        threshold=request.threshold,
    )


def check_settings(folder: Path, request: SentenceRequest, settings: SentenceSettings) -> None:
    """Raise PolyprobeError if the sentence version exists with other settings."""
    if not is_built(folder, request.name):
        return
    notes = read_config(folder, request.name).notes
    if sentence_card.read_settings(notes) != settings:
        command = notes.get("command", "another program")
        raise PolyprobeError(
            f"{folder} holds another {request.name}, made by `{command}`; give another --output, "
            f"or remove {folder / 'data' / request.name}"
        )


def translate_all(
    request: SentenceRequest, base: Base, translator: Translator, stanza_dir: Path | None
) -> dict[str, Inflected]:
    """Return the outcomes and candidates of each language, the source language first."""
    from polyprobe.builder.objects.find import find_objects

    find = partial(
        find_objects,
        lemmatizer=request.lemmatizer,
        stanza_dir=stanza_dir,
        threshold=request.threshold,
    )
    own = request.source_language
    rows = base[own]
    inflected = {own: keep_candidates(rows, keep_source(rows, own))}
    for language in request.languages:
        outcomes = translate_rows((own, rows), (language, base[language]), translator, find)
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
    from .common import count_costs, count_lost, find_common, find_kept, make_tables

    told = write_outcomes(
        folder, request.name, [outcome for part in inflected.values() for outcome in part.outcomes]
    )
    kept = find_kept(inflected)
    lost = count_lost(inflected)
    if not kept:
        counts = ", ".join(f"{language} {status} {n}" for language, status, n in lost.iter_rows())
        raise PolyprobeError(
            f"no fact of {request.config} was found in every language ({counts}); see {told}"
        )
    partial = len(find_common(inflected)) - len(kept)
    made_of = sentence_card.hash_base(folder, request.config, base.keys() & inflected.keys())
    costs = count_costs(inflected, kept)
    notes = SentenceNotes(settings, request.command, made_of, partial, len(kept), costs, lost)
    tables = make_tables(base, inflected, kept)
    pairs = track(tables.items(), f"writing {request.name}")
    write_tables(folder, request.name, pairs, sentence_card.dump(notes))
    configs = list_known(folder, list_own(request.dataset))
    write_card(folder, request.dataset, configs, load_describer(request.dataset))
    return notes
