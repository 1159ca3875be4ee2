"""Languages of the datasets: name, ISO 639-3 code, family, branch and script.

`languages.tsv` is compiled by hand. `tests/schema/test_languages.py` compares it with its sources:

- names: Unicode CLDR 47, through babel 2.18, except Bengali and Ilocano (Unicode-3.0);
- scripts: likely subtags of CLDR, through langcodes 3.5 (Unicode-3.0);
- ISO 639-3 codes (SIL International): as langcodes 3.5 maps them to ISO 639-1;
- families: names of Glottolog (CC-BY-4.0), in the tree of URIEL from lang2vec 1.1.2 (CC-BY-SA-4.0).

No test compares the branches and the names of FLORES-200 (CC-BY-SA-4.0) with a source.
"""

import csv
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache, partial
from importlib.resources import files
from typing import Any, NamedTuple

from polyprobe.system.messages import PolyprobeError, guess

STANZA = {"iw": "he", "no": "nb", "zh": "zh-hans"}  # codes that Stanza spells otherwise
SIMPLEMMA = {"hr": "hbs", "sr": "hbs", "bs": "hbs", "no": "nb", "iw": "he"}
TRAITS = ("script", "family", "branch")


class Language(NamedTuple):
    """One language."""

    code: str  # ISO 639-1, else ISO 639-3; with the script if the datasets have two
    name: str
    iso: str  # ISO 639-3; for macrolanguages that of the macrolanguage, as in URIEL
    flores: str  # name in FLORES-200; empty without one
    family: str
    # Finnic or Ugric for Uralic. Basque, Dravidian, Japonic, Kartvelian and Koreanic are their own.
    branch: str
    script: str  # ISO 15924; that of the datasets if several are in use


@cache
def read_languages() -> dict[str, Language]:
    """Return the languages by code."""
    with files("polyprobe.schema").joinpath("languages.tsv").open(encoding="utf-8") as lines:
        rows = csv.DictReader(lines, delimiter="\t")
        return {row["code"]: Language(**row) for row in rows}


def stanza_name(language: str) -> str:
    """Return Stanza's code of a language or split."""
    return STANZA.get(language, language.replace("_", "-"))


def list_lemmas() -> Collection[str]:
    """List the languages of simplemma, by its codes."""
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

    return SUPPORTED_LANGUAGES


def find_lemma(language: str) -> Callable[[str], str] | None:
    """Return simplemma's function from a word to its lemma; None for a language without one."""
    code = SIMPLEMMA.get(language, language)
    if code not in list_lemmas():
        return None
    from simplemma import lemmatize

    return lru_cache(1 << 16)(partial(lemmatize, lang=code))


def find_language(split: str) -> Language | None:
    """Return the language of a split or code, without its suffixes if it is unknown with them.

    >>> find_language("zh_hant").script, find_language("pt-BR").name, find_language("tlh")
    ('Hant', 'Portuguese', None)
    """
    parts = split.replace("_", "-").lower().split("-")
    languages = read_languages()
    codes = ("-".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((languages[code] for code in codes if code in languages), None)


def show_language(split: str) -> str:
    """Return the English name of the language of a split, or the split itself if it is unknown."""
    language = find_language(split)
    return language.name if language else split


def find_code(name: str) -> str | None:
    """Return the code of a language by its English name or ISO 639-2 or -3 code.

    >>> find_code("French"), find_code("deu"), find_code("arb")
    ('fr', 'de', 'ar')
    """
    codes = {
        text.casefold(): code
        for code, language in reversed(read_languages().items())  # of a language's codes the first
        for text in (language.flores[:3], language.iso, language.name)
    }
    with suppress(ImportError):  # without Babel the languages of the table alone, and not `cmn`
        from babel import Locale
        from babel.core import get_global

        codes = get_global("language_aliases") | codes
        codes = {x.casefold(): code for code, x in Locale("en").languages.items()} | codes
    return codes.get(name.casefold())


def refuse_languages(languages: Iterable[str], place: str, available: Collection[str]) -> None:
    """Refuse languages that are not available; suggest the codes of other names for them."""
    unknown = [language for language in languages if language not in available]
    if not unknown:
        return
    splits = {x.replace("_", "-").casefold(): x for x in available}
    codes = (find_code(x) or getattr(find_language(x), "code", "") for x in unknown)
    names = [splits.get(code) for code in codes]
    hint = f" did you mean {','.join(filter(None, names))!r}?" if names[0] else ""
    base, separator, _ = unknown[0].replace("_", "-").partition("-")
    if separator and len(unknown) == 1:  # the nearest variant of the language
        hint = guess(unknown[0], [x for x in available if x.startswith(base)]) or hint
    # The code of a language is no mistake for that of another; a variant may be.
    if not hint and (len(unknown[0]) > 3 or unknown[0].casefold() not in read_languages()):
        hint = guess(unknown[0], available)
    listing = ", ".join(sorted(available))
    raise PolyprobeError(f"unknown language {unknown[0]!r} in {place};{hint} available: {listing}")


@cache
def find_split(name: str, splits: tuple[str, ...]) -> str | None:
    """Return the split of a language by its code or English name, None without one.

    >>> find_split("German", ("de", "fr")), find_split("zh-CN", ("zh",)), find_split("x", ("zh",))
    ('de', 'zh', None)
    """
    folded = {split.casefold(): split for split in splits}
    variant = re.fullmatch("[a-z]{2,3}[-_]([A-Z]{2}|[A-Z][a-z]{3})", name)
    language = find_language(name if variant else find_code(name) or "")
    same = [split for split in splits if language and find_language(split) == language]
    return folded.get(name.replace("-", "_").casefold(), same[0] if len(same) == 1 else None)


def split_list(texts: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return the items of comma-separated lists, without blanks and repetitions.

    >>> split_list(["P36, P37", "P36"])
    ('P36', 'P37')
    """
    lists = [texts] if isinstance(texts, str) else texts or ()
    parts = [part.strip() for text in lists for part in text.split(",")]
    return tuple(dict.fromkeys(filter(None, parts)))


def parse_languages(texts: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return language codes in the spelling of cards and sources, with hyphens.

    >>> parse_languages("en, zh_hans"), parse_languages(["en,fr", "zh-hans"])
    (('en', 'zh-hans'), ('en', 'fr', 'zh-hans'))
    """
    return tuple(dict.fromkeys(item.replace("_", "-") for item in split_list(texts)))


def order_pair(values: Mapping[str, Any], first: str, second: str) -> str:
    """Name a pair as in `values`, where only one order may be present."""
    name = f"{first}-{second}"
    return name if name in values else f"{second}-{first}"


def list_traits(splits: Sequence[str], trait: str) -> dict[str, str]:
    """Return the script, family or branch of each language that is in the table.

    >>> list_traits(["en", "ru", "tlh"], "script")
    {'en': 'Latn', 'ru': 'Cyrl'}
    """
    return {x: getattr(language, trait) for x in splits if (language := find_language(x))}
