"""Words and lemmas of texts from Stanza or simplemma, or words without lemmas."""

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache, lru_cache, partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from polyprobe.metrics.shared.names import LETTER, UNINFLECTED, Word, fold_word, read_runs
from polyprobe.schema.languages import find_lemma, list_lemmas, stanza_name
from polyprobe.system.files import read_table_rows
from polyprobe.system.messages import (
    PolyprobeError,
    explain_missing_extras,
    one_line,
    refuse_unknown,
    unknown,
)

LEMMATIZERS = ("stanza", "simplemma", "none", "auto")
UNMEASURED = {"stanza": 0, "simplemma": 1, "none": 2}  # the order without evidence
GERSHAYIM = re.compile('["״]')  # before the last letter of a Hebrew acronym
TRIMMED = re.compile(rf"\w(?:.*[{LETTER}])?", re.DOTALL)


class Lemmatizer(NamedTuple):
    """Splits texts into words and lemmatizes them."""

    name: str  # printed on the card
    list_words: Callable[[Sequence[str]], list[list[Word]]]  # of each text, without punctuation


@cache
def read_errors() -> dict[str, dict[str, int]]:
    """Return the errors of the lemmatizers by language, from `python -m bench objects`."""
    return {
        line["language"]: {name: int(line[name]) for name in UNMEASURED if line[name]}
        for line in read_table_rows(__package__, "measured.csv")
    }


def list_unmeasured(languages: Iterable[str]) -> list[str]:
    """List the languages in which no lemmatizer has been measured."""
    return [x for x in languages if x not in read_errors() and x.split("-")[0] not in UNINFLECTED]


def read_tokens(texts: Sequence[str], pipeline: Any) -> list[list[Word]]:
    """Return the words of each text from Stanza; equal texts are processed once, in batches."""
    distinct = [text for text in dict.fromkeys(texts) if text.strip()]
    documents = pipeline.bulk_process(distinct) if distinct else []
    words = dict(zip(distinct, map(join_tokens, distinct, documents), strict=True))
    return [words.get(text, []) for text in texts]


def join_tokens(text: str, document: Any) -> list[Word]:
    """Return the tokens of a Stanza document as words, without marks at their ends."""
    words: list[Word] = []
    for token in (token for sentence in document.sentences for token in sentence.tokens):
        match = TRIMMED.search(text[token.start_char : token.end_char])
        if not match:
            continue
        start, end = (token.start_char + place for place in match.span())
        form = fold_word(text[start:end])
        # A token of several words (`del`) has no lemma.
        lemma = fold_word(token.words[0].lemma or form) if len(token.words) == 1 else form
        # Stanza splits some written words, such as contractions, into tokens.
        gap = text[words[-1].end : start] if words else " "
        if not gap or (GERSHAYIM.fullmatch(gap) and len(form) == 1 and "א" <= form <= "ת"):
            last = words.pop()
            form, lemma = gap + form, gap + lemma
            start, form, lemma = last.start, last.form + form, last.form + lemma
        words.append(Word(start, end, form, lemma))
    return words


def load_lemmatizer(name: str, language: str, stanza_dir: Path | str | None = None) -> Lemmatizer:
    """Return a lemmatizer for a language; `stanza_dir` is a folder of Stanza's models."""
    # `auto` is the one with the fewest measured errors. In a tie, and without evidence, it is
    # Stanza, else simplemma, else none. Stanza needs its models on disk.
    refuse_unknown("lemmatizer", [name], "polyprobe", LEMMATIZERS)
    is_auto, errors = name == "auto", read_errors().get(language, UNMEASURED)
    if is_auto:
        has_model = (find_stanza(stanza_dir) / stanza_name(language) / "lemma").is_dir()
        choice = [x for x in UNMEASURED if x in errors and (x != "stanza" or has_model)]
        name = min(choice, key=errors.__getitem__)
    if name == "none" or language.partition("-")[0] in UNINFLECTED:
        return Lemmatizer("none", read_runs)
    if name == "stanza":
        return load_stanza(language, stanza_dir)
    try:
        with explain_missing_extras("finding objects with simplemma", any_package=True):
            lemma = find_lemma(language)
        if lemma is None:
            raise unknown("language", language, "simplemma", list_lemmas())
    except PolyprobeError:
        if is_auto:
            return Lemmatizer("none", read_runs)
        raise
    return Lemmatizer(f"simplemma {version('simplemma')}", partial(read_runs, lemma=lemma))


@lru_cache(maxsize=4)  # called for each relation
def load_stanza(language: str, folder: Path | str | None = None) -> Lemmatizer:
    """Return Stanza's lemmatizer; models are downloaded only into Stanza's own folder."""
    with explain_missing_extras("finding objects with stanza", any_package=True):
        import stanza
    place, code = find_stanza(folder), stanza_name(language)
    if not (place / code / "lemma").is_dir():
        if folder is not None:
            has = sorted(path.parent.name for path in place.glob("*/lemma"))
            raise PolyprobeError(
                f"{place} has no Stanza model of '{code}' with a lemmatizer; available: "
                f"{', '.join(has) or 'none'}; download it with stanza.download('{code}', "
                "model_dir=…), or use --lemmatizer simplemma"
            )
        try:
            stanza.download(code, processors="tokenize,mwt,pos,lemma", verbose=False)
        except Exception as error:  # from requests, or Stanza's own for an unknown language
            raise PolyprobeError(
                f"cannot download the Stanza models of '{code}' ({one_line(error)}); try again, "
                "give a folder of models with --stanza, or use --lemmatizer simplemma"
            ) from error
    parts = [part for part in ("tokenize", "mwt", "pos", "lemma") if (place / code / part).is_dir()]
    try:
        options = {"download_method": None, "tokenize_no_ssplit": True, "logging_level": "ERROR"}
        options |= {"lemma_store_results": True, "processors": ",".join(parts)}
        pipeline = stanza.Pipeline(lang=code, dir=str(place), **options)
    except Exception as error:  # unpickling a damaged file can raise anything
        raise PolyprobeError(
            f"cannot load the Stanza models of '{code}' in {place} "
            f"({one_line(error)}); download them again, or use --lemmatizer simplemma"
        ) from error
    name = f"stanza {version('stanza')} ({code}: {', '.join(parts)})"
    return Lemmatizer(name, partial(read_tokens, pipeline=pipeline))


def find_stanza(folder: Path | str | None) -> Path:
    """Return the given folder of models, or Stanza's default, where it downloads missing ones."""
    if folder is None:
        with suppress(ModuleNotFoundError):  # `auto` does without
            folder = import_module("stanza.resources.common").DEFAULT_MODEL_DIR
    return Path(folder or "stanza_resources").expanduser()
