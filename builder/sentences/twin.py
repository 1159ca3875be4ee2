"""From a configuration to its sentence-level twin: rows, translations, objects, files, card."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from polyprobe import PolyprobeError

from .. import sentence_card
from ..build import (
    BALANCED,
    build_dataset,
    check_folder,
    check_mirror,
    choose_configs,
    explain_missing_extras,
    list_known,
    load_describer,
    load_source,
    write_card,
)
from ..card import is_built, read_config
from ..lemmatizers import load_lemmatizer
from ..progress import track
from ..sentence_card import Notes, Settings
from ..translators import Translator, load_translator
from ..translators.failures import packages_explained
from ..write import recover, write_tables
from .base import Base, choose_languages, read_base
from .forms import Worded, keep_candidates, word_candidates
from .outcomes import write_outcomes
from .request import Request, check_request
from .translate import keep_source, translate_rows


def build_sentences(
    dataset: str,
    config: str = "default",
    translator: str | Translator = "googletrans",
    languages: Sequence[str] = (),
    lemmatizer: str = "auto",
    stanza_dir: Path | None = None,
    threshold: float = 75,
    source_language: str = "en",
    translator_options: Mapping[str, str] | None = None,
    mirror: Path | None = None,
    output: Path | None = None,
) -> tuple[Path, Notes]:
    """Build `CONFIG-sentence` beside `CONFIG` and return the folder, and how it came about.

    Args:
        dataset: name of a dataset; its folder is `output`, or `datasets/NAME`.
        config: the configuration of templates; it is built where it does not lie in the folder,
            a balanced one must.
        translator: name of one (`translators.TRANSLATORS`) or one made already.
        languages: splits of the configuration; all by default. The source language is always there.
        lemmatizer: as in `objects.find_objects`, with the folder of Stanza's models.
        stanza_dir: see there.
        threshold: least likeness of object and label, 0 to 100; what is below is left out.
        source_language: the split whose sentences are translated.
        translator_options: of the translator, where it is named.
        mirror: folder with the upstream archives, for a configuration that is not built.
        output: folder to write to.

    Raises:
        PolyprobeError: unknown names, a pair that the translator does not know, a missing package,
            a twin made with other settings, no fact that every language has. What was translated
            is kept (`translators/memory.py`), what was lost is written with its reason.
    """
    engine = prepare_translator(translator, translator_options or {})
    options = (engine.name, tuple(languages), lemmatizer, float(threshold), source_language)
    request = Request(dataset, config, *options)
    with explain_missing_extras():
        check_request(request)
        if stanza_dir is not None and not stanza_dir.is_dir():
            raise PolyprobeError(f"no folder {stanza_dir}; give --stanza one with Stanza's models")
        folder = find_base(request, mirror, output)
        base = read_base(folder, config)
        targets = choose_languages(base, languages, source_language, f"{dataset}/{config}")
        request = request._replace(languages=tuple(targets))
        settings = settle(request, engine, stanza_dir)
        check_same(folder, request, settings)
        worded = word_all(request, base, engine, stanza_dir)
        notes = write_twin(folder, request, settings, base, worded)
    return folder, notes


def prepare_translator(translator: str | Translator, options: Mapping[str, str]) -> Translator:
    """Return the translator of a name, or the one given."""
    return load_translator(translator, **options) if isinstance(translator, str) else translator


def find_base(request: Request, mirror: Path | None, output: Path | None) -> Path:
    """Return the folder that holds the configuration, which is built where it is missing."""
    folder = output or Path("datasets", request.dataset)
    check_mirror(mirror)
    if request.dataset != BALANCED:
        choose_configs(request.dataset, load_source(request.dataset), [request.config])
    check_folder(folder, request.dataset, [*list_known(folder, request.dataset), request.config])
    for config in (request.config, request.name):
        recover(folder, config)
    if not is_built(folder, request.config):
        if request.dataset == BALANCED:
            raise PolyprobeError(
                f"no configuration {request.config} in {folder}; build it first: polyprobe build "
                f"balanced --source SOURCE --languages en,… --config {request.config}"
            )
        build_dataset(request.dataset, [request.config], mirror, output)
    return folder


def settle(request: Request, translator: Translator, stanza_dir: Path | None) -> Settings:
    """Return what the twin's rows will depend on; an engine that lacks a language is an error."""
    own = request.source_language
    with packages_explained(translator.name):
        signs = [translator.sign(*translator.check(own, other)) for other in request.languages]
    return Settings(
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


def check_same(folder: Path, request: Request, settings: Settings) -> None:
    """Raise PolyprobeError where the twin lies there already and was made with other settings."""
    if not is_built(folder, request.name):
        return
    notes = read_config(folder, request.name).notes
    if sentence_card.read_settings(notes) != settings:
        command = notes.get("command", "another program")
        raise PolyprobeError(
            f"{folder} holds another {request.name}, made by `{command}`; give another --output, "
            f"or remove {folder / 'data' / request.name}"
        )


def word_all(
    request: Request, base: Base, translator: Translator, stanza_dir: Path | None
) -> dict[str, Worded]:
    """Return what every row became in each language, the source language first."""
    from ..objects import find_objects

    find = partial(
        find_objects,
        lemmatizer=request.lemmatizer,
        stanza_dir=stanza_dir,
        threshold=request.threshold,
    )
    own = request.source_language
    rows = base[own]
    worded = {own: keep_candidates(rows, keep_source(rows, own))}
    for language in request.languages:
        outcomes = translate_rows((own, rows), (language, base[language]), translator, find)
        worded[language] = word_candidates(base[language], outcomes)
    return worded


def write_twin(
    folder: Path,
    request: Request,
    settings: Settings,
    base: Base,
    worded: Mapping[str, Worded],
) -> Notes:
    """Write the table of outcomes, the twin and the card, and return how it came about."""
    from .balance import count_costs, count_lost, find_common, find_kept, make_tables

    told = write_outcomes(
        folder, request.name, [outcome for part in worded.values() for outcome in part.outcomes]
    )
    kept = find_kept(worded)
    lost = count_lost(worded)
    if not kept:
        counts = ", ".join(f"{language} {status} {n}" for language, status, n in lost.iter_rows())
        raise PolyprobeError(
            f"no fact of {request.config} was found in every language ({counts}); see {told}"
        )
    partial = len(find_common(worded)) - len(kept)
    made_of = sentence_card.hash_base(folder, request.config, base.keys() & worded.keys())
    costs = count_costs(worded, kept)
    notes = Notes(settings, request.command, made_of, partial, len(kept), costs, lost)
    tables = make_tables(base, worded, kept)
    pairs = track(tables.items(), f"writing {request.name}")
    write_tables(folder, request.name, pairs, sentence_card.dump(notes))
    configs = list_known(folder, request.dataset)
    write_card(folder, request.dataset, configs, load_describer(request.dataset))
    return notes
