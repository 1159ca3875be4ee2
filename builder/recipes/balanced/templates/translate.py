"""Templates translated by machine where several engines agree, as mParaRel's were.

Fierro and Søgaard (Findings of ACL 2022, arXiv:2203.11552, section 3): every template is translated
by several engines with its slots in it; one is valid that two engines agree on, or that an engine
gives whom native speakers trust. Here engines agree where they give the same wording for the same
template (mParaRel compares all paraphrases of a relation); case, blanks, invisible characters and
the punctuation at the end aside.
"""

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from polyprobe.builder.facts.facts import TEMPLATES
from polyprobe.builder.facts.invisible import normalise
from polyprobe.builder.translators import Translator, load_translator, read_pairs
from polyprobe.system.errors import PolyprobeError, unknown

from .slots import STYLES, put_slots, restore_slots
from .votes import AGREED, TRUSTED, KeptTemplate, Version, classify, group_versions, merge

PROVENANCE = {
    **TEMPLATES,
    "sources": pl.List(pl.String),  # template_ids of what was translated
    "translators": pl.List(pl.String),  # who gave this wording, in the order named
    "trusted": pl.Boolean,  # whether one of them is trusted
}
"""One row a translated template; `sources` are several where their translations are equal."""

OUTCOMES = {
    "language": pl.String,
    "relation": pl.String,
    "template_id": pl.String,  # of the template that was translated
    "translator": pl.String,
    "outcome": pl.String,
    "style": pl.String,
    "text": pl.String,
    "problem": pl.String,
}
"""One row for each language, template and translator: what became of it, and what came (`text`)."""


class Translated(NamedTuple):
    """What was translated: `templates` (TEMPLATES), where from (PROVENANCE), OUTCOMES."""

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
    """Return the templates of a language in others, where translators agree or one is trusted.

    The N of an id `translated:RELATION:N` counts a language's templates of the relation.

    Args:
        templates: TEMPLATES; those of `source` are translated, the others passed over.
        source: code of a language.
        targets: codes of languages.
        translators: by name; of equal wordings a trusted one's is taken, else the first's.
        trusted: names of translators whose word alone is enough.
        styles: how slots are written (STYLES); the next is tried for templates that lose one.

    Raises:
        PolyprobeError: the source among the targets, one translator that is not trusted, two names
            for one engine, a translator that offers no target; what `translate_each` raises.
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
    """Return translations for the languages and relations that have no template among `templates`.

    A relation that has none in the source language either gets none. Where nothing lacks, nobody
    is asked. Arguments and errors as in `translate_templates`.
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
    """Return translators by what a command line says of each: `NAME`, or `NAME key=value ...`.

    Two models are two: `transformers model=facebook/nllb-200-distilled-600M` is one's name.
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
    """Return the translations of what is asked, {target: TEMPLATES of the source}."""
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
    """Raise PolyprobeError where no template could be kept, or engines agree with themselves."""
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
    """Return {(translator, target): why it does not translate so}.

    Raises:
        PolyprobeError: a translator that offers none of the targets; its first reason.
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
    """Return a version of each template, in the first style of slots that survives."""
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
    """Tell whether another style of slots may help: something came, but not what was wanted."""
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
    """Return how often what became of templates: language, translator, outcome, `count`."""
    keys = ["language", "translator", "outcome"]
    return outcomes.group_by(keys).len("count").sort(keys)


def describe_outcomes(translated: Translated) -> Iterator[str]:
    """Yield a line for each language: how many templates were asked and kept, and who gave what."""
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
