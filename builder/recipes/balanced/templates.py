"""Machine translation of templates, kept if several engines agree, as in mParaRel.

Fierro and Søgaard (Findings of ACL 2022, arXiv:2203.11552, section 3) translate every template,
including its slots, with several engines. A translation is valid if two engines agree on it, or if
it comes from an engine that native speakers trust. By default, engines agree if they give the same
wording for the same template; with `agree="relation"`, as in mParaRel, for any template of the
relation. The comparison ignores case, spaces, invisible characters and final punctuation.

Engines write `[x]`, `［X］` or `[ X ]` for a slot, drop a bracket, or transliterate the letter:
`[Х]`, `[Кс]`, `[Икс]` for X, `[У]`, `[И]`, `[Игрек]` for Y. An ambiguous slot counts as lost: a
letter without brackets must be a capital (`y` is Spanish for "and"), and both letters must be of
one alphabet (`У` is a Russian preposition).
"""

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from polyprobe.builder.facts import SUBJECT, TEMPLATES, is_template
from polyprobe.builder.facts.labels import fold, normalise
from polyprobe.builder.translators import Translator, load_translator, read_pairs
from polyprobe.builder.translators.votes import group_wordings, is_agreed
from polyprobe.schema.columns import SLOT
from polyprobe.system.errors import PolyprobeError, unknown

PROVENANCE = {
    **TEMPLATES,
    "sources": pl.List(pl.String),  # template_ids of the originals
    "translators": pl.List(pl.String),  # of this wording, in the order of the request
    "trusted": pl.Boolean,  # whether one of them is trusted
}
"""One row for each translated template; several `sources` if their translations are equal."""

OUTCOMES = {
    **dict.fromkeys(("language", "relation", "template_id", "translator"), pl.String),
    **dict.fromkeys(("outcome", "style", "text", "problem"), pl.String),
}
"""One row for each language, original template and translator, with the translation (`text`)."""

AGREED, TRUSTED = "agreed", "trusted"
ALONE, LOST, FAILED, UNOFFERED = "alone", "slots lost", "no translation", "pair not offered"
FINAL = ".。．｡!！?？…।॥۔؟։။។·:;,،、 "

# Square brackets may be doubled or single; other brackets must be complete pairs.
SQUARE = r"\[［", r"\]］"
PAIRS = ("()", "（）", "{}", "｛｝", "<>", "＜＞", "【】", "〔〕", "「」", "『』", "«»")

# No such letter is next to a slot without brackets; Chinese and Korean put no space around it.
LETTER = "[0-9_A-Za-z\u00c0-\u024f\u0300-\u03ff\u0400-\u052f\u1f00-\u1fff]"

# Renderings of a letter in brackets, ignoring case: similar letters, its name, its sound.
SUBJECT_LETTERS = (
    *("x", "ｘ", "х", "χ", "кс", "икс", "ікс"),
    *("س", "إكس", "ایکس", "איקס", "एक्स", "এক্স", "எக்ஸ்", "ఎక్స్", "იქსი", "エックス", "엑스"),
)
OBJECT_LETTERS = (
    *("y", "ｙ", "у", "υ", "и", "игрек", "ігрек", "ипсилон"),
    *("ص", "واي", "وای", "وائی", "וואי", "वाई", "वाय", "ওয়াই", "ஒய்", "వై", "იგრეკი", "ワイ", "와이"),
)
LETTERS = (("X", "Y"), ("Х", "У"), ("Χ", "Υ"))  # Latin, Cyrillic, Greek
NAMES = ("Xarvon", "Yelvik")  # neither words nor names of a known language


class Style(NamedTuple):
    """The spelling of slots for a translator: `subject` and `object`.

    `readings` are pairs of patterns that find them again, the most reliable first.
    """

    subject: str
    object: str
    readings: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]


def _bracketed(letters: tuple[str, ...]) -> re.Pattern[str]:
    names = "|".join(re.escape(letter) for letter in letters)
    left, right = SQUARE
    forms = [rf"[{left}]+ ?(?:{names}) ?[{right}]+"]
    forms += [rf"{re.escape(pair[0])} ?(?:{names}) ?{re.escape(pair[1])}" for pair in PAIRS]
    return re.compile("|".join(forms), re.IGNORECASE)


def _single(letter: str) -> re.Pattern[str]:
    left, right = SQUARE
    return re.compile(rf"[{left}]?(?<!{LETTER}){letter}(?!{LETTER})[{right}]?")


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!{LETTER}){name}(?!{LETTER})", re.IGNORECASE)


_SINGLES = tuple((_single(x), _single(y)) for x, y in LETTERS)
_BRACKETED = (_bracketed(SUBJECT_LETTERS), _bracketed(OBJECT_LETTERS))

STYLES = {
    "brackets": Style(SUBJECT, SLOT, (_BRACKETED, *_SINGLES)),
    "letters": Style("X", "Y", _SINGLES),
    "names": Style(*NAMES, ((_word(NAMES[0]), _word(NAMES[1])),)),
}


class Version(NamedTuple):
    """One translator's version of a template.

    `template` has both slots; '' if a slot is lost or there is no translation. `text` is the output
    of the engine for slots in `style`.
    """

    template: str
    style: str
    text: str
    problem: str


class KeptTemplate(NamedTuple):
    """A kept translation: its text, the ids of its originals, and its translators."""

    template: str
    sources: tuple[str, ...]
    translators: tuple[str, ...]


class Translated(NamedTuple):
    """Translated templates (TEMPLATES), their PROVENANCE, and the OUTCOMES."""

    templates: pl.DataFrame
    provenance: pl.DataFrame
    outcomes: pl.DataFrame


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


def fill_missing(
    templates: pl.DataFrame,
    languages: Sequence[str],
    relations: Collection[str],
    translators: Mapping[str, Translator],
    trusted: Collection[str] = (),
    source: str = "en",
    agree: str = "template",
    styles: Sequence[str] = tuple(STYLES),
) -> Translated:
    """Return translations for the languages and relations without a template in `templates`.

    A translation is kept if two translators agree or one is trusted; of equal wordings, a trusted
    translator's is kept, otherwise the first. Translators agree by `agree`: if they give a wording
    for the same `template`, or for any one of the `relation`. In the id `translated:RELATION:N`,
    N numbers the templates of a relation in a language. Relations without a template in the source
    language are left out. No text is translated if nothing is missing. `styles` (STYLES) of slots
    are tried in turn for templates that lose a slot.

    Raises:
        PolyprobeError: a single translator is not trusted, two names are the same engine, or a
            translator supports none of the languages; also the errors of `translate_each`.
    """
    own = templates.filter(pl.col("relation").is_in(sorted(relations)), language=source)
    lacking = {
        language: own.join(
            templates.filter(language=language), on="relation", how="anti", maintain_order="left"
        )
        for language in languages
    }
    check_translators(translators, trusted)
    asked = {language: rows for language, rows in lacking.items() if rows.height}
    return translate_each_language(asked, source, translators, trusted, styles, agree)


def translate_each_language(
    asked: Mapping[str, pl.DataFrame],
    source: str,
    translators: Mapping[str, Translator],
    trusted: Collection[str],
    styles: Sequence[str],
    agree: str,
) -> Translated:
    """Return the translations of `asked`, {target: TEMPLATES of the source}."""
    refusals = find_refusals(source, list(asked), translators)
    rows: list[tuple[object, ...]] = []
    outcomes: list[tuple[object, ...]] = []
    for target, originals in asked.items():
        texts, relations = originals["template"].to_list(), originals["relation"].to_list()
        given = {
            name: [Version("", "", "", refusals[name, target])] * len(texts)
            if (name, target) in refusals
            else translate_with(translator, texts, relations, source, target, styles)
            for name, translator in translators.items()
        }
        kept: dict[str, dict[str, KeptTemplate]] = {}
        votes = count_votes(originals, given, agree)
        for number, (_, relation, template_id, _) in enumerate(originals.iter_rows()):
            versions = {name: column[number] for name, column in given.items()}
            own = votes[number]
            for name, version in versions.items():
                outcome = classify(name, version, own, trusted, (name, target) in refusals)
                outcomes.append((target, relation, template_id, name, outcome, *version[1:]))
            merge(kept.setdefault(relation, {}), versions, own, template_id, trusted)
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

    PolyprobeError if a translator supports none of the targets.
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
    translator: Translator,
    templates: Sequence[str],
    relations: Sequence[str],
    source: str,
    target: str,
    styles: Sequence[str],
) -> list[Version]:
    """Return a version of each template, in the first style whose slots survive."""
    versions = [Version("", "", "", "")] * len(templates)
    pending = list(range(len(templates)))
    for style in styles:
        asked = [put_slots(templates[place], style) for place in pending]
        own = [relations[place] for place in pending]
        answers = translator.translate_each(asked, source, target, None, own) if asked else []
        for place, (text, problem) in zip(pending, answers, strict=True):
            template = "" if problem else restore_slots(normalise(text, target), style)
            versions[place] = Version(template, style, text, problem)
        pending = [place for place in pending if needs_other_style(versions[place])]
    return versions


def put_slots(template: str, style: str) -> str:
    """Return the template with its slots in a style (a name in STYLES).

    >>> put_slots("[X] was born in [Y].", "names")
    'Xarvon was born in Yelvik.'
    """
    written = STYLES[style]
    return template.replace(SUBJECT, written.subject).replace(SLOT, written.object)


def restore_slots(text: str, style: str) -> str:
    """Return the translation with `[X]` and `[Y]` once each; '' if one is lost or doubled.

    >>> restore_slots("［x］ est né à [ Y ].", "brackets")
    '[X] est né à [Y].'
    >>> restore_slots("[X] est né à Paris.", "brackets")
    ''
    """
    for subject, answer in STYLES[style].readings:
        if len(subject.findall(text)) == len(answer.findall(text)) == 1:
            restored = subject.sub(SUBJECT, answer.sub(SLOT, text))
            if is_template(restored):
                return restored
    return ""


def needs_other_style(version: Version) -> bool:
    """Return whether another style of slots may help: slots lost, or text empty or unchanged."""
    return not version.template and version.problem in ("", "empty", "unchanged")


def count_votes(
    originals: pl.DataFrame, given: Mapping[str, Sequence[Version]], agree: str
) -> list[dict[str, list[str]]]:
    """Return for each original {folded wording: its translators}, by `agree` (`fill_missing`)."""
    folded = {
        name: [fold_template(version.template) if version.template else "" for version in column]
        for name, column in given.items()
    }
    relations = originals["relation"].to_list()

    def group(places: Sequence[int]) -> dict[str, list[str]]:
        own = {name: filter(None, [texts[n] for n in places]) for name, texts in folded.items()}
        return group_wordings(own)

    rows = [group([number]) for number in range(originals.height)]
    if agree == "template":
        return rows
    places = {name: [n for n, of in enumerate(relations) if of == name] for name in {*relations}}
    shared = {name: group(own) for name, own in places.items()}
    return [
        {text: shared[relation][text] for text in own}
        for relation, own in zip(relations, rows, strict=True)
    ]


def fold_template(template: str) -> str:
    """Return the key for the comparison of templates.

    >>> fold_template("[X]  naceu en [Y] .") == fold_template("[X] Naceu en [Y]")
    True
    """
    return fold(template).rstrip(FINAL)


def classify(
    name: str,
    version: Version,
    groups: Mapping[str, Sequence[str]],
    trusted: Collection[str],
    refused: bool,
) -> str:
    """Return the outcome of one translator's version of a template."""
    if not version.template:
        return UNOFFERED if refused else FAILED if version.problem else LOST
    if len(groups[fold_template(version.template)]) > 1:
        return AGREED
    return TRUSTED if name in trusted else ALONE


def merge(
    kept: dict[str, KeptTemplate],
    versions: Mapping[str, Version],
    groups: Mapping[str, Sequence[str]],
    template_id: str,
    trusted: Collection[str],
) -> None:
    """Add the agreed wordings of one original to `kept`; merge equal ones.

    `groups` are the voters for each wording, of which some may have given it for another original.
    """
    for folded, names in groups.items():
        if not is_agreed(names, trusted):
            continue
        text = find_text(versions, folded, trusted)
        before = kept.get(folded, KeptTemplate(text, (), ()))
        givers = dict.fromkeys((*before.translators, *names))
        kept[folded] = KeptTemplate(before.template, (*before.sources, template_id), tuple(givers))


def find_text(versions: Mapping[str, Version], folded: str, trusted: Collection[str]) -> str:
    """Return the wording of a trusted translator, otherwise that of the first one that gives it."""
    texts = {
        name: version.template
        for name, version in versions.items()
        if version.template and fold_template(version.template) == folded
    }
    return texts[next((name for name in texts if name in trusted), next(iter(texts)))]


def list_rows(
    language: str, kept: Mapping[str, Mapping[str, KeptTemplate]], trusted: Collection[str]
) -> Iterator[tuple[object, ...]]:
    """Yield the rows of PROVENANCE of one language."""
    for relation, wordings in sorted(kept.items()):
        for number, (template, sources, names) in enumerate(wordings.values()):
            vouched = any(name in trusted for name in names)
            name = f"translated:{relation}:{number}"
            yield language, relation, name, template, sources, names, vouched


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


def count_outcomes(outcomes: pl.DataFrame) -> pl.DataFrame:
    """Return the number of outcomes: language, translator, outcome, `count`."""
    keys = ["language", "translator", "outcome"]
    return outcomes.group_by(keys).len("count").sort(keys)
