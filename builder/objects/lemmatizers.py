"""Words and their lemmas: one interface, behind it Stanza, simplemma, or none."""

import os
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from polyprobe.system.errors import PolyprobeError, unknown

LEMMATIZERS = ("stanza", "simplemma", "none", "auto")
UNINFLECTED = ("bo", "ja", "km", "lo", "my", "th", "vi", "yue", "zh")
"""Languages whose nouns do not change, or have their endings apart from them, by first subtag."""
STANZA_NAMES = {"no": "nb", "iw": "he"}
SIMPLEMMA_NAMES = {"hr": "hbs", "sr": "hbs", "bs": "hbs", "no": "nb", "iw": "he"}
UNSEEN = (
    "\u00ad\u200b\u200c\u200d\u2060"  # soft hyphen, joiners: inside a word, not of its spelling
)
OPTIONAL = "".join(map(chr, (*range(0x300, 0x370), *range(0x591, 0x5C8), *range(0x64B, 0x653))))
"""Accents over letters that are written without them, Hebrew's and Arabic's vowels."""
LETTER = (
    "\\w"
    + UNSEEN
    + "".join(
        character
        for character in map(chr, range(0x300, 0x11000))
        if unicodedata.category(character).startswith("M")
    )
)
WORD = re.compile(rf"\w(?:[{LETTER}'’ʼ·]*[{LETTER}])?")
TRIMMED = re.compile(rf"\w(?:.*[{LETTER}])?", re.DOTALL)
FOLDED = str.maketrans({"ё": "е", "ґ": "г", "і": "и", "ї": "и", "’": "'", "ʼ": "'"})
LEFT_OUT = str.maketrans("", "", UNSEEN + OPTIONAL)


class Word(NamedTuple):
    """A word of a text: its characters `[start, end)`, form and lemma, folded for comparison."""

    start: int
    end: int
    form: str
    lemma: str


class Lemmatizer(ABC):
    """What cuts texts into words and finds their lemmas; `name` stands on the dataset's card."""

    name: str

    @abstractmethod
    def read(self, texts: Sequence[str]) -> list[list[Word]]:
        """Return the words of each text, without punctuation."""


class Plain(Lemmatizer):
    """Words without lemmas: runs of letters and digits."""

    name = "none"

    def __init__(self, lemma: Callable[[str], str] = lambda word: word, name: str = "none") -> None:
        self.name = name
        self._lemma = lemma

    def read(self, texts: Sequence[str]) -> list[list[Word]]:
        """Return the words of each text."""
        return [[self._word(found) for found in WORD.finditer(text)] for text in texts]

    def _word(self, found: re.Match[str]) -> Word:
        return Word(*found.span(), fold(found[0]), fold(self._lemma(found[0])))


class Stanza(Lemmatizer):
    """Words and lemmas of a Stanza pipeline: tokenize, mwt, pos and lemma, as far as it has them.

    A token that stands for several words (`del`) keeps its form as its lemma; tokens without a
    blank or a mark between them are one word.
    """

    def __init__(self, pipeline: Any, name: str) -> None:
        self.name = name
        self._pipeline = pipeline

    def read(self, texts: Sequence[str]) -> list[list[Word]]:
        """Return the words of each text; equal texts are read once, all in batches."""
        distinct = [text for text in dict.fromkeys(texts) if text.strip()]
        documents = self._pipeline.bulk_process(distinct) if distinct else []
        words = {
            text: list(join_tokens(text, document))
            for text, document in zip(distinct, documents, strict=True)
        }
        return [words.get(text, []) for text in texts]


def join_tokens(text: str, document: Any) -> Iterable[Word]:
    """Yield the words of a document: its tokens without the marks at their ends."""
    last: Word | None = None
    for token in (token for sentence in document.sentences for token in sentence.tokens):
        found = TRIMMED.search(text[token.start_char : token.end_char])
        if not found:
            continue
        start, end = (token.start_char + place for place in found.span())
        form = fold(text[start:end])
        lemma = fold(token.words[0].lemma or form) if len(token.words) == 1 else form
        if last and last.end == start:
            last = Word(last.start, end, last.form + form, last.form + lemma)
            continue
        if last:
            yield last
        last = Word(start, end, form, lemma)
    if last:
        yield last


def fold(text: str) -> str:
    """Return a word for comparison: composed, case-folded, without what is written either way.

    That is г/ґ, и/і, accents that no letter is composed with (`Ки́їв`, `İ` in small), soft hyphens.
    """
    composed = unicodedata.normalize("NFC", text).casefold().translate(FOLDED)
    return composed.translate(LEFT_OUT) or composed


def load_lemmatizer(name: str, language: str, stanza_dir: Path | str | None = None) -> Lemmatizer:
    """Return a lemmatiser for a language: `stanza`, `simplemma`, `none`, or `auto`.

    `auto` is Stanza where its models lie already, else simplemma if it knows the language, else
    none. A language whose words do not change (`UNINFLECTED`) needs none. Stanza's models are those
    in `stanza_dir`; without it in STANZA_RESOURCES_DIR or its own folder, and fetched if missing.

    Raises:
        PolyprobeError: an unknown name, a language that the lemmatiser does not know, models that
            cannot be fetched or read, a missing package.
    """
    if name not in LEMMATIZERS:
        raise unknown("lemmatizer", name, "polyprobe", LEMMATIZERS)
    if name == "none" or language.partition("-")[0] in UNINFLECTED:
        return Plain()
    if name == "auto":
        name = choose(language, stanza_dir)
    if name == "stanza":
        return load_stanza(language, stanza_dir)
    return load_simplemma(language) if name == "simplemma" else Plain()


def choose(language: str, stanza_dir: Path | str | None) -> str:
    """Return the best lemmatiser that can be had for a language without the network."""
    if (find_stanza(stanza_dir) / stanza_name(language) / "lemma").is_dir():
        return "stanza"
    known = SIMPLEMMA_NAMES.get(language, language) in simplemma_languages()
    return "simplemma" if known else "none"


def simplemma_languages() -> set[str]:
    """Return the codes that simplemma knows; none where it is not installed."""
    try:
        from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES
    except ModuleNotFoundError:
        return set()
    return set(SUPPORTED_LANGUAGES)


def load_simplemma(language: str) -> Lemmatizer:
    """Return simplemma for a language."""
    try:
        import simplemma
    except ModuleNotFoundError as error:
        raise missing("simplemma") from error
    code = SIMPLEMMA_NAMES.get(language, language)
    if code not in simplemma_languages():
        raise unknown("language", language, "simplemma", simplemma_languages())
    return Plain(partial(simplemma.lemmatize, lang=code), f"simplemma {version('simplemma')}")


@lru_cache(maxsize=4)  # a call a relation loads it once
def load_stanza(language: str, folder: Path | str | None = None) -> Lemmatizer:
    """Return a Stanza pipeline for a language."""
    try:
        import stanza
    except ModuleNotFoundError as error:
        raise missing("stanza") from error
    place, code = find_stanza(folder), stanza_name(language)
    if not (place / code / "lemma").is_dir():
        if folder is not None:
            has = sorted(path.parent.name for path in place.glob("*/lemma"))
            raise PolyprobeError(
                f"{place} holds no Stanza model of '{code}' with a lemmatizer; it has "
                f"{', '.join(has) or 'none'}; stanza.download('{code}', model_dir=…) fetches one, "
                "or take --lemmatizer simplemma"
            )
        fetch_stanza(stanza, code)
    parts = [part for part in ("tokenize", "mwt", "pos", "lemma") if (place / code / part).is_dir()]
    try:
        pipeline = stanza.Pipeline(
            lang=code,
            dir=str(place),
            processors=",".join(parts),
            download_method=None,
            tokenize_no_ssplit=True,
            lemma_store_results=True,
            logging_level="ERROR",
        )
    except Exception as error:  # torch's unpickling raises whatever a damaged file makes of it
        raise PolyprobeError(
            f"cannot load the Stanza models of '{code}' in {place} "
            f"({' '.join(str(error).split())[:200]}); fetch them again, or take "
            "--lemmatizer simplemma"
        ) from error
    return Stanza(pipeline, f"stanza {version('stanza')} ({code}: {', '.join(parts)})")


def fetch_stanza(stanza: Any, code: str) -> None:
    """Download Stanza's models of a language into its own folder."""
    try:
        stanza.download(code, processors="tokenize,mwt,pos,lemma", verbose=False)
    except Exception as error:  # requests', and Stanza's own for a language it does not know
        raise PolyprobeError(
            f"cannot fetch the Stanza models of '{code}' ({' '.join(str(error).split())[:200]}); "
            "try again, name a folder that has them with --stanza, or take --lemmatizer simplemma"
        ) from error


def find_stanza(folder: Path | str | None) -> Path:
    """Return the folder of Stanza's models: the one given, or that which Stanza takes by itself."""
    if folder is not None:
        return Path(folder).expanduser()
    try:
        from stanza.resources.common import DEFAULT_MODEL_DIR
    except ModuleNotFoundError:
        return Path(os.environ.get("STANZA_RESOURCES_DIR", "stanza_resources"))
    return Path(DEFAULT_MODEL_DIR)


def stanza_name(language: str) -> str:
    """Return Stanza's code of a language."""
    return STANZA_NAMES.get(language, language)


def missing(package: str) -> PolyprobeError:
    """Return the error for a package that is not installed."""
    return PolyprobeError(
        f"finding objects with {package} needs the package {package}: "
        "pip install 'polyprobe[sentences]'"
    )


def version(package: str) -> str:
    """Return the version of an installed package."""
    from importlib.metadata import version as installed

    return installed(package)
