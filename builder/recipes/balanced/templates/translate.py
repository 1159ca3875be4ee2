"""Machine translation of templates, kept if several engines agree, as in mParaRel.

Fierro and Søgaard (Findings of ACL 2022, arXiv:2203.11552, section 3) translate every template,
including its slots, with several engines. A translation is valid if two engines agree on it, or if
it comes from an engine that native speakers trust. Here, engines agree if they give the same
wording for the same template; mParaRel compares all paraphrases of a relation. The comparison
ignores case, spaces, invisible characters and final punctuation.
"""

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from polyprobe.builder.facts import TEMPLATES
from polyprobe.builder.facts.labels import normalise
from polyprobe.builder.translators import Translator, load_translator, read_pairs
from polyprobe.system.errors import PolyprobeError, unknown

from .slots import STYLES, put_slots, restore_slots
from .votes import AGREED, TRUSTED, KeptTemplate, Version, classify, group_versions, merge

PROVENANCE = {
    **TEMPLATES,
    "sources": pl.List(pl.String),  # template_ids of the originals
    "translators": pl.List(pl.String),  # of this wording, in the order of the request
    "trusted": pl.Boolean,  # whether one of them is trusted
}
"""One row for each translated template; several `sources` if their translations are equal."""

OUTCOMES = {
    "language": pl.String,
    "relation": pl.String,
    "template_id": pl.String,  # of the original
    "translator": pl.String,
    "outcome": pl.String,
    "style": pl.String,
    "text": pl.String,
    "problem": pl.String,
}
"""One row for each language, template and translator: the outcome, and the translation (`text`)."""


class Translated(NamedTuple):
    """Translated templates (TEMPLATES), their PROVENANCE, and the OUTCOMES."""

    templates: pl.DataFrame
    provenance: pl.DataFrame
    outcomes: pl.DataFrame


def translate_templates(
    templates: pl.DataFrame,
    source: str,
    targets: Sequence[str],
    translators: Mapping[str, Translator],
    trusted: Collection[str] = (),
    styles: Sequence[str] = tuple(STYLES),
) -> Translated:
    """Return the templates of a language, translated into others.

    A translation is kept if two translators agree or one is trusted. In the id
    `translated:RELATION:N`, N numbers the templates of a relation in a language.

    Args:
        templates: TEMPLATES; only those in `source` are translated.
        source: language code of the originals.
        targets: language codes of the translations.
        translators: {name: translator}; of equal wordings, a trusted translator's is kept,
            otherwise the first.
        trusted: names of translators that need no agreement.
        styles: styles of slots (STYLES), tried in turn for templates that lose a slot.

    Raises:
        PolyprobeError: `source` is among `targets`, a single translator is not trusted, two names
            are the same engine, or a translator supports none of the targets; also the errors of
            `translate_each`.
    """
    if source in targets:
        raise PolyprobeError(
            f"templates in {source} cannot be translated to {source}; leave it out"
        )
    asked = dict.fromkeys(targets, choose_own(templates, source))
    return translate_each_language(asked, source, translators, trusted, styles)


def fill_missing(
    templates: pl.DataFrame,
    languages: Sequence[str],
    relations: Collection[str],
    translators: Mapping[str, Translator],
    trusted: Collection[str] = (),
    source: str = "en",
) -> Translated:
    """Return translations for the languages and relations without a template in `templates`.

    Relations without a template in the source language are left out. No text is translated if
    nothing is missing. Arguments and errors as in `translate_templates`.
    """
    own = choose_own(templates, source).filter(pl.col("relation").is_in(sorted(relations)))
    lacking = {
        language: own.join(choose_own(templates, language), on="relation", how="anti",
                           maintain_order="left")
        for language in languages
    }  # fmt: skip
    asked = {language: rows for language, rows in lacking.items() if rows.height}
    return translate_each_language(asked, source, translators, trusted, tuple(STYLES))


def load_translators(asked: Sequence[str]) -> dict[str, Translator]:
    """Return {text: translator} for texts of the form `NAME` or `NAME key=value ...`.

    The whole text is the translator's name, so that two models are two translators: `transformers
    model=facebook/nllb-200-distilled-600M`.
    """
    loaded = {}
    for text in asked:
        try:
            name, *options = shlex.split(text) or [""]
        except ValueError as error:
            raise PolyprobeError(f"translator {text!r}: {str(error).lower()}") from error
        loaded[text] = load_translator(name, **read_pairs(options, f"translator {text!r}"))
    return loaded


def choose_own(templates: pl.DataFrame, language: str) -> pl.DataFrame:
    """Return the templates of one language, in their order."""
    return templates.filter(pl.col("language") == language).select(*TEMPLATES)


def translate_each_language(
    asked: Mapping[str, pl.DataFrame],
    source: str,
    translators: Mapping[str, Translator],
    trusted: Collection[str],
    styles: Sequence[str],
) -> Translated:
    """Return the translations of `asked`, {target: TEMPLATES of the source}."""
    check_translators(translators, trusted)
    refusals = find_refusals(source, list(asked), translators)
    rows: list[tuple[object, ...]] = []
    outcomes: list[tuple[object, ...]] = []
    for target, own in asked.items():
        texts = own["template"].to_list()
        given = {
            name: [Version("", "", "", refusals[name, target])] * len(texts)
            if (name, target) in refusals
            else translate_with(translator, texts, source, target, styles)
            for name, translator in translators.items()
        }
        kept: dict[str, dict[str, KeptTemplate]] = {}
        for number, (_, relation, template_id, _) in enumerate(own.iter_rows()):
            versions = {name: column[number] for name, column in given.items()}
            groups = group_versions(versions)
            for name, version in versions.items():
                outcome = classify(name, version, groups, trusted, (name, target) in refusals)
                outcomes.append((target, relation, template_id, name, outcome, *version[1:]))
            merge(kept.setdefault(relation, {}), versions, groups, template_id, trusted)
        rows += list_rows(target, kept, trusted)
    provenance = pl.DataFrame(rows, schema=PROVENANCE, orient="row")
    told = pl.DataFrame(outcomes, schema=OUTCOMES, orient="row")
    return Translated(provenance.select(*TEMPLATES), provenance, told)


def check_translators(translators: Mapping[str, Translator], trusted: Collection[str]) -> None:
    """Raise PolyprobeError if no template could be kept, or if two names are the same engine."""
    for name in trusted:
        if name not in translators:
            raise unknown("translator", name, "--trusted", translators)
    if not trusted and len(translators) < 2:
        raise PolyprobeError(
            f"templates translated by {', '.join(translators) or 'nobody'} alone: two translators "
            "must agree; name a second, or trust it (--trusted)"
        )
    names: dict[str, str] = {}
    for name, translator in translators.items():
        if (other := names.setdefault(translator.signature, name)) != name:
            raise PolyprobeError(
                f"the translators {other!r} and {name!r} are one engine ({translator.signature}); "
                "that it agrees with itself tells nothing: leave one out"
            )


def find_refusals(
    source: str, targets: Sequence[str], translators: Mapping[str, Translator]
) -> dict[tuple[str, str], str]:
    """Return {(translator, target): error message} of unsupported language pairs.

    Raises:
        PolyprobeError: a translator supports none of the targets.
    """
    refusals = {}
    for name, translator in translators.items():
        errors = []
        for target in targets:
            try:
                translator.check(source, target)
            except PolyprobeError as error:
                errors.append(error)
                refusals[name, target] = str(error)
        if errors and len(errors) == len(targets):
            raise errors[0]
    return refusals


def translate_with(
    translator: Translator, templates: Sequence[str], source: str, target: str,
    styles: Sequence[str],
) -> list[Version]:  # fmt: skip
    """Return a version of each template, in the first style whose slots survive."""
    versions = [Version("", "", "", "")] * len(templates)
    pending = list(range(len(templates)))
    for style in styles:
        asked = [put_slots(templates[place], style) for place in pending]
        answers = translator.translate_each(asked, source, target) if asked else []
        for place, (text, problem) in zip(pending, answers, strict=True):
            template = "" if problem else restore_slots(normalise(text, target), style)
            versions[place] = Version(template, style, text, problem)
        pending = [place for place in pending if needs_other_style(versions[place])]
    return versions


def needs_other_style(version: Version) -> bool:
    """Return whether another style of slots may help: slots lost, or text empty or unchanged."""
    return not version.template and version.problem in ("", "empty", "unchanged")


def list_rows(
    language: str, kept: Mapping[str, Mapping[str, KeptTemplate]], trusted: Collection[str]
) -> Iterator[tuple[object, ...]]:
    """Yield the rows of PROVENANCE of one language."""
    for relation, wordings in sorted(kept.items()):
        for number, (template, sources, names) in enumerate(wordings.values()):
            vouched = any(name in trusted for name in names)
            name = f"translated:{relation}:{number}"
            yield language, relation, name, template, sources, names, vouched


def count_outcomes(outcomes: pl.DataFrame) -> pl.DataFrame:
    """Return the number of outcomes: language, translator, outcome, `count`."""
    keys = ["language", "translator", "outcome"]
    return outcomes.group_by(keys).len("count").sort(keys)


def describe_outcomes(translated: Translated) -> Iterator[str]:
    """Yield one line for each language: templates translated, templates kept, and outcomes."""
    kept = translated.templates["language"].to_list()
    for (language,), rows in translated.outcomes.group_by("language", maintain_order=True):
        asked = rows.select("relation", "template_id")
        good = asked.filter(rows["outcome"].is_in([AGREED, TRUSTED]))
        became = [
            f"{translator} {count} {outcome}"
            for _, translator, outcome, count in count_outcomes(rows).iter_rows()
        ]
        yield (
            f"templates translated to {language}: {good.n_unique()} of {asked.n_unique()} kept in "
            f"{kept.count(language)} wordings ({', '.join(became)})"
        )
