"""Machine translation of templates, kept if several engines agree, as in mParaRel.

Fierro and Søgaard (Findings of ACL 2022, arXiv:2203.11552, section 3) keep a translation if two
engines agree on it, or if it comes from an engine that native speakers trust. By default, engines
agree in the same template; with `agree="relation"`, as in mParaRel, in any of the relation.
"""

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from polyprobe.builder.facts import SUBJECT, TEMPLATES, is_template
from polyprobe.builder.facts.labels import fold, normalise
from polyprobe.schema.columns import SLOT
from polyprobe.system.files import read_toml
from polyprobe.system.messages import PolyprobeError, refuse_unknown

from . import Translator, load_translator, read_pairs

# One row for each language, original template and translator, with the translation (`text`).
_KEYS = ("language", "relation", "template_id", "translator")
OUTCOMES = dict.fromkeys((*_KEYS, "outcome", "style", "text", "problem"), pl.String)
AGREED, TRUSTED = "agreed", "trusted"
ALONE, LOST, FAILED, UNOFFERED = "alone", "slots lost", "no translation", "pair not offered"
FINAL = ".。．｡!！?？…।॥۔؟։။។·:;,،、 "

# Engines write `[x]`, `［X］` or `[ X ]`, drop a bracket, or transliterate the letter. An ambiguous
# slot counts as lost: a letter without brackets must be a capital (`y` is Spanish for "and"), and
# both letters must be of one alphabet (`У` is a Russian preposition).
# Square brackets may be doubled or single; other brackets must be complete pairs.
OPENING, CLOSING = r"\[［", r"\]］"
PAIRS = ("()", "（）", "{}", "｛｝", "<>", "＜＞", "【】", "〔〕", "「」", "『』", "«»")
# No such letter is next to a slot without brackets; Chinese and Korean put no space around it.
LETTER = "[0-9_A-Za-z\u00c0-\u024f\u0300-\u03ff\u0400-\u052f\u1f00-\u1fff]"

# Renderings of a letter in brackets
RENDERINGS = read_toml(__package__, "letters.toml")
LETTERS = (("X", "Y"), ("Х", "У"), ("Χ", "Υ"))  # Latin, Cyrillic, Greek
NAMES = ("Xarvon", "Yelvik")  # neither words nor names of a known language


class Style(NamedTuple):
    """The spelling of slots for a translator: `subject` and `object`."""

    subject: str
    object: str
    # Pairs of patterns that find the slots again, the most reliable first.
    readings: tuple[tuple[re.Pattern[str], ...], ...]


def _in_brackets(letters: Sequence[str]) -> re.Pattern[str]:
    names = "|".join(map(re.escape, letters))
    forms = [rf"[{OPENING}]+ ?(?:{names}) ?[{CLOSING}]+"]
    forms += [rf"{re.escape(pair[0])} ?(?:{names}) ?{re.escape(pair[1])}" for pair in PAIRS]
    return re.compile("|".join(forms), re.IGNORECASE)


def _as_letter(letter: str) -> re.Pattern[str]:
    return re.compile(rf"[{OPENING}]?(?<!{LETTER}){letter}(?!{LETTER})[{CLOSING}]?")


_BRACKETS = (_in_brackets(RENDERINGS["subject"]), _in_brackets(RENDERINGS["object"]))
_CAPITALS = tuple(tuple(map(_as_letter, pair)) for pair in LETTERS)
_WORDS = tuple(re.compile(rf"(?<!{LETTER}){x}(?!{LETTER})", re.IGNORECASE) for x in NAMES)

STYLES = {
    "brackets": Style(SUBJECT, SLOT, (_BRACKETS, *_CAPITALS)),
    "letters": Style("X", "Y", _CAPITALS),
    "names": Style(*NAMES, (_WORDS,)),
}


def put_slots(template: str, style: str) -> str:
    """Write the slots of a template in a style (a name in STYLES).

    >>> put_slots("[X] was born in [Y].", "names")
    'Xarvon was born in Yelvik.'
    """
    spelling = STYLES[style]
    return template.replace(SUBJECT, spelling.subject).replace(SLOT, spelling.object)


def restore_slots(text: str, style: str) -> str:
    """Return the translation with `[X]` and `[Y]` once each; '' if one is lost or doubled.

    >>> restore_slots("［x］ est né à [ Y ].", "brackets")
    '[X] est né à [Y].'
    >>> restore_slots("[X] est né à Paris.", "brackets")
    ''
    """
    for subject, answer in STYLES[style].readings:
        if len(subject.findall(text)) == len(answer.findall(text)) == 1:
            template = subject.sub(SUBJECT, answer.sub(SLOT, text))
            if is_template(template):
                return template
    return ""


class Version(NamedTuple):
    """One translator's version of a template."""

    template: str = ""  # with both slots; '' if one is lost or there is no translation
    style: str = ""
    text: str = ""  # the output of the engine for slots in `style`
    problem: str = ""


# `number` is that of the original in a language.
VERSIONS = dict.fromkeys((*_KEYS, "number", "refusal", *Version._fields), pl.String)
VERSIONS["number"] = pl.Int64


class Translations(NamedTuple):
    """Translated templates (TEMPLATES), each wording once, and the OUTCOMES."""

    templates: pl.DataFrame
    outcomes: pl.DataFrame


def load_translators(texts: Sequence[str]) -> dict[str, Translator]:
    """Return {text: translator} for texts of the form `NAME` or `NAME key=value ...`."""
    translators = {}  # by the whole text: two models are two translators
    for text in texts:
        try:
            name, *options = shlex.split(text) or [""]
        except ValueError as error:
            raise PolyprobeError(f"translator {text!r}: {str(error).lower()}") from error
        translators[text] = load_translator(name, **read_pairs(options, f"translator {text!r}"))
    return translators


def fill_missing(
    templates: pl.DataFrame,
    languages: Sequence[str],
    relations: Collection[str],
    translators: Mapping[str, Translator],
    trusted: Collection[str] = (),
    source: str = "en",
    agree: str = "template",
    styles: Sequence[str] = tuple(STYLES),
) -> Translations:
    """Translate templates for the languages and relations without one in `templates`."""
    # Of equal wordings, a trusted translator's is kept, otherwise the first. In the id
    # `translated:RELATION:N`, N numbers the templates of a relation in a language. Relations
    # without a template in the source language are left out. `styles` of slots are tried in turn
    # for templates that lose a slot.
    originals = templates.filter(pl.col("relation").is_in(sorted(relations)), language=source)
    originals = originals.sort("relation", maintain_order=True)
    gaps = {
        language: originals.join(
            templates.filter(language=language), on="relation", how="anti", maintain_order="left"
        )
        for language in languages
    }
    check_translators(translators, trusted)
    gaps = {language: rows for language, rows in gaps.items() if rows.height}
    refusals = find_refusals(source, list(gaps), translators)
    rows = []
    for target, part in gaps.items():
        versions = {
            name: translate_with(translator, part, source, target, styles)
            for name, translator in translators.items()
            if (name, target) not in refusals
        }
        for number, key in enumerate(part.select("relation", "template_id").iter_rows()):
            for name in translators:
                refusal = refusals.get((name, target), "")
                version = Version(problem=refusal) if refusal else versions[name][number]
                rows.append((target, *key, name, number, refusal, *version))
    return choose_wordings(pl.DataFrame(rows, VERSIONS, orient="row"), trusted, agree)


def count_votes(rows: pl.DataFrame, scope: Sequence[str], trusted: Collection[str]) -> pl.DataFrame:
    """Add the votes for the wording of each row: `voters` and whether it is `valid`.

    >>> rows = pl.DataFrame({"translator": ["bing", "google", "google"], "text": ["a", "b", "a"]})
    >>> count_votes(rows, ["text"], ["bing"])["valid"].to_list()
    [True, False, True]
    """
    # Rows agree if the columns of `scope` are equal. A wording is valid if two translators agree on
    # it, or if a trusted one gives it: the trusted have two votes, the others have one.
    name = pl.col("translator")
    doubled = name.filter(name.is_in(list(trusted)))
    return rows.with_columns(
        voters=name.unique(maintain_order=True).over(scope, mapping_strategy="join"),
        valid=(name.n_unique() + doubled.n_unique()).over(scope) > 1,
    )


def choose_wordings(versions: pl.DataFrame, trusted: Collection[str], agree: str) -> Translations:
    """Choose the valid wordings of VERSIONS, and name the outcome of each version."""
    texts = [fold_template(text) if text else None for text in versions["template"]]
    wordings = versions.with_columns(wording=pl.Series(texts, dtype=pl.String))
    scope = ["language", "relation" if agree == "relation" else "number", "wording"]
    votes = count_votes(wordings, scope, trusted)
    is_trusted = pl.col("translator").is_in(list(trusted))
    outcome = (
        pl.when(pl.col("refusal") != "").then(pl.lit(UNOFFERED))
        .when(pl.col("wording").is_null() & (pl.col("problem") != "")).then(pl.lit(FAILED))
        .when(pl.col("wording").is_null()).then(pl.lit(LOST))
        .when(pl.col("voters").list.len() > 1).then(pl.lit(AGREED))
        .when(is_trusted).then(pl.lit(TRUSTED))
        .otherwise(pl.lit(ALONE))
    )  # fmt: skip
    valid = votes.filter("valid", pl.col("wording").is_not_null())
    groups = valid.group_by("language", "relation", "wording", maintain_order=True)
    first = pl.col("template").sort_by("number", ~is_trusted, maintain_order=True).first()
    number = pl.int_range(pl.len()).over("language", "relation")
    name = pl.format("translated:{}:{}", "relation", number)
    templates = groups.agg(first).with_columns(template_id=name).select(*TEMPLATES)
    return Translations(templates, votes.with_columns(outcome=outcome).select(*OUTCOMES))


def check_translators(translators: Mapping[str, Translator], trusted: Collection[str]) -> None:
    """Raise PolyprobeError if no template could be kept, or if two names are the same engine."""
    refuse_unknown("translator", trusted, "--trusted", translators)
    if not trusted and len(translators) < 2:
        raise PolyprobeError(
            f"templates translated by {', '.join(translators) or 'nobody'} alone: two translators "
            "must agree; name a second, or trust it (--trusted)"
        )
    names: dict[str, str] = {}
    for name, translator in translators.items():
        if (first := names.setdefault(translator.signature, name)) != name:
            raise PolyprobeError(
                f"the translators {first!r} and {name!r} are one engine ({translator.signature}); "
                "that it agrees with itself tells nothing: leave one out"
            )


def find_refusals(
    source: str, targets: Sequence[str], translators: Mapping[str, Translator]
) -> dict[tuple[str, str], str]:
    """Return {(translator, target): error message} of unsupported language pairs."""
    refusals = {}
    for name, translator in translators.items():
        errors = []
        for target in targets:
            try:
                translator.check(source, target)
            except PolyprobeError as error:
                errors.append(error)
                refusals[name, target] = str(error)
        if errors and len(errors) == len(targets):  # it supports none of them
            raise errors[0]
    return refusals


def translate_with(
    translator: Translator, originals: pl.DataFrame, source: str, target: str, styles: Sequence[str]
) -> list[Version]:
    """Return a version of each template (TEMPLATES), in the first style whose slots survive."""
    templates, relations = originals["template"], originals["relation"]
    versions = [Version()] * originals.height
    pending = list(range(originals.height))
    for style in styles:
        if not pending:
            break
        texts = [put_slots(templates[place], style) for place in pending]
        part = [relations[place] for place in pending]
        answers = translator.translate_each(texts, source, target, (), part)
        lost = []
        for place, (text, problem) in zip(pending, answers, strict=True):
            template = "" if problem else restore_slots(normalise(text, target), style)
            versions[place] = Version(template, style, text, problem)
            if not template and problem in ("", "empty", "unchanged"):
                lost.append(place)  # another style may help
        pending = lost
    return versions


def fold_template(template: str) -> str:
    """Return the key for the comparison of templates.

    >>> fold_template("[X]  naceu en [Y] .") == fold_template("[X] Naceu en [Y]")
    True
    """
    return fold(template).rstrip(FINAL)


def describe_outcomes(translations: Translations) -> Iterator[str]:
    """Yield one line for each language: templates translated, templates kept, and outcomes."""
    languages = translations.templates["language"].to_list()
    for (language,), rows in translations.outcomes.group_by("language", maintain_order=True):
        originals = rows.select("relation", "template_id")
        successes = originals.filter(rows["outcome"].is_in([AGREED, TRUSTED]))
        totals = count_outcomes(rows).iter_rows()
        counts = [f"{translator} {count} {outcome}" for _, translator, outcome, count in totals]
        yield (
            f"templates translated to {language}: {successes.n_unique()} of "
            f"{originals.n_unique()} kept in {languages.count(str(language))} wordings "
            f"({', '.join(counts)})"
        )


def count_outcomes(outcomes: pl.DataFrame) -> pl.DataFrame:
    """Return the number of outcomes: language, translator, outcome, `count`."""
    keys = ["language", "translator", "outcome"]
    return outcomes.group_by(keys).len("count").sort(keys)
