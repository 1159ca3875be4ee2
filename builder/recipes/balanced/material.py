"""Material of a balanced set: a source, borrowed labels and templates, and their provenance."""

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import polars as pl

from polyprobe.builder.facts import LABELS, TEMPLATES, Facts, empty
from polyprobe.builder.facts.labels import tidy, unmix_column
from polyprobe.builder.sources import TRUTH_SOURCES, load_source, load_truth_source, read_source
from polyprobe.system.download import check_archive
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.progress import report

from .coverage import Coverage, measure_coverage
from .request import Request, check_languages, check_relations, check_request

FALLBACK = "bmlama"  # provides templates for all of its relations in 53 languages


class Provenance(NamedTuple):
    """The origin of data; `commit` is empty for a URL.

    `role` is facts, labels, templates, or truths (further correct answers, excluded as
    distractors).
    """

    source: str
    role: str
    home: str
    commit: str
    licence: str


class Material(NamedTuple):
    """The data that a balanced set is built from.

    Attributes:
        known: facts of the source, with completed labels.
        templates: templates of each language and relation in order of preference, without
            duplicates.
        coverage: availability of the facts of the requested relations, in each language of the
            source.
        truths: names of the sources of further correct answers.
        borrowed: number of labels that each source of `--labels` completed.
        sources: provenance of all data.
    """

    known: Facts
    templates: pl.DataFrame
    coverage: Coverage
    truths: tuple[str, ...]
    borrowed: dict[str, int]
    sources: tuple[Provenance, ...]


def gather(request: Request, mirror: Path | None = None) -> Material:
    """Check the request and return its material, in every language of the source."""
    check_request(request)
    source = load_source(request.source)
    check_languages(request.languages, request.source, source.LANGUAGES)
    check_label_sources(request)
    truth_sources = {name: load_truth_source(name) for name in TRUTH_SOURCES}
    for module in (source, *map(load_source, request.labels), *truth_sources.values()):
        if repository := getattr(module, "REPOSITORY", None):
            check_archive(repository, mirror)
    known = read_source(request.source, mirror)
    check_relations(request, set(known.facts["relation"]))
    sources = [describe(request.source, source, "facts")]
    borrowed = {}
    for name in request.labels:
        other = load_source(name)
        shared = sorted({*source.LANGUAGES} & {*other.LANGUAGES})
        before = known.labels.height
        known = complete(known, read_source(name, mirror, shared).labels)
        borrowed[name] = known.labels.height - before
        sources.append(describe(name, other, "labels"))
    if request.wording:
        known = add_sentences(request, source, known, mirror)
    fallback = empty(TEMPLATES)
    if request.source != FALLBACK and lacks_templates(known, source.LANGUAGES):
        other = load_source(FALLBACK)
        fallback = other.read_templates(mirror)
        sources.append(describe(FALLBACK, other, "templates"))
    if request.template_translators:
        translated, engines = translate_missing(request, known, fallback)
        fallback = pl.concat([fallback.select(*TEMPLATES), translated])
        sources.append(Provenance("translated", "templates", engines, "", "made by machine"))
    sources += [describe(name, module, "truths") for name, module in truth_sources.items()]
    return assemble(request, known, fallback, source.LANGUAGES)._replace(
        truths=tuple(truth_sources), borrowed=borrowed, sources=tuple(sources)
    )


def add_sentences(request: Request, source: ModuleType, known: Facts, mirror: Path | None) -> Facts:
    """Return the facts with the source's own sentences, rendered if its prompts are annotated."""
    if getattr(source, "MARKED_PROMPTS", False):
        from .sentences import render_sentences  # local, because it imports all grammars

        languages = request.languages or source.LANGUAGES
        return render_sentences(known, mirror, languages, request.unimorph or None)
    if known.prompts.is_empty():
        raise PolyprobeError(
            f"--wording {request.wording}: {request.source} has no sentences of its own; build its "
            "templates, and then the twin with --config NAME-sentence --translator NAME"
        )
    return known


def translate_missing(
    request: Request, known: Facts, fallback: pl.DataFrame
) -> tuple[pl.DataFrame, str]:
    """Return translated templates (TEMPLATES) for languages without one, and the signatures."""
    from polyprobe.builder.recipes.balanced.templates.translate import (
        describe_outcomes,
        fill_missing,
        load_translators,
    )

    engines = load_translators(request.template_translators)
    asked = set(choose_relations(known.facts, request)["relation"])
    both = choose_templates(known.templates, fallback)
    translated = fill_missing(both, request.languages, asked, engines, request.trusted)
    for line in describe_outcomes(translated):
        report(line)
    return translated.templates, "; ".join(engine.signature for engine in engines.values())


def assemble(
    request: Request, known: Facts, fallback: pl.DataFrame, languages: Sequence[str]
) -> Material:
    """Return the material of loaded facts; `fallback` (TEMPLATES) provides missing templates.

    Invisible characters that are not part of the spelling are removed from all texts. Each word of
    a label is written in one alphabet, empty labels are dropped, and duplicate templates are
    merged.
    """
    labels = unmix_column(tidy(known.labels, ["label"]), "label").filter(pl.col("label") != "")
    known = known._replace(labels=labels, prompts=tidy(known.prompts, ["prompt", "form"]))
    borrowed = fallback.filter(pl.col("language").is_in(list(languages)))
    templates = tidy(choose_templates(known.templates, borrowed), ["template"])
    wording = ["language", "relation", "template"]
    templates = templates.unique(wording, keep="first", maintain_order=True)
    facts = choose_relations(known.facts, request)
    coverage = measure_coverage(known, facts, templates, languages)
    if request.wording:
        coverage = coverage.require_both()
    return Material(known, templates, coverage, (), {}, ())


def choose_templates(own: pl.DataFrame, fallback: pl.DataFrame) -> pl.DataFrame:
    """Return the templates of each language and relation (TEMPLATES), in the source's order.

    If the source has none, the templates of `fallback` are used.
    """
    borrowed = fallback.join(own, on=["language", "relation"], how="anti", maintain_order="left")
    both = pl.concat([own.select(*TEMPLATES), borrowed.select(*TEMPLATES)])
    return both.sort("language", "relation", maintain_order=True)


def choose_relations(facts: pl.DataFrame, request: Request) -> pl.DataFrame:
    """Return the facts of the requested relations."""
    chosen = set(request.relations or facts["relation"]) - set(request.exclude)
    return facts.filter(pl.col("relation").is_in(sorted(chosen)))


def complete(known: Facts, borrowed: pl.DataFrame) -> Facts:
    """Return the facts with borrowed labels for their entities without one."""
    entities = pl.concat([known.facts["subject_id"], known.facts["object_id"]]).unique()
    new = borrowed.join(known.labels, on=["language", "id"], how="anti").join(
        entities.alias("id").to_frame(), on="id", how="semi"
    )
    labels = pl.concat([known.labels.select(LABELS.keys()), new.select(LABELS.keys())])
    return known._replace(labels=labels.sort(*LABELS))


def check_label_sources(request: Request) -> None:
    """Raise PolyprobeError if a source of `--labels` has none of the requested languages."""
    for name in request.labels:
        has = load_source(name).LANGUAGES
        if request.languages and not {*request.languages} & {*has}:
            raise PolyprobeError(
                f"--labels {name}: it has none of {', '.join(request.languages)}; "
                f"available: {', '.join(has)}"
            )


def lacks_templates(known: Facts, languages: Sequence[str]) -> bool:
    """Return whether a relation has no template in one of the languages."""
    pairs = len(set(languages)) * known.facts["relation"].n_unique()
    asked = known.templates.filter(pl.col("language").is_in(list(languages)))
    return asked.select("language", "relation").n_unique() < pairs


def describe(name: str, source: ModuleType, role: str) -> Provenance:
    """Return the provenance of a source."""
    repository = getattr(source, "REPOSITORY", None)
    home = repository.name if repository else source.URL
    return Provenance(name, role, home, repository.commit if repository else "", source.LICENCE)
