"""Subword vocabularies and their overlap (Qi et al. 2023, section 6.2, equation 7; no code)."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from polyprobe.schema.columns import SLOT, has_prompts, place_rows
from polyprobe.schema.load import read_splits
from polyprobe.schema.run.folder import Run, load_again
from polyprobe.schema.run.protocol import as_asked
from polyprobe.schema.run.settings import Settings
from polyprobe.scoring.options import FINAL_STOP, SERVED
from polyprobe.scoring.weights.places import Place, find_tokenizer, load_tokenizer
from polyprobe.system.files import is_hash
from polyprobe.system.messages import PolyprobeError, one_line

from . import FILLED, PROMPTS, SUBWORDS
from .pairs import Similarity, name_keys

TRIED = 20  # sentences of each language
TOGETHER = 200  # texts
OTHER_FILES = (".md", ".parquet", ".jsonl", ".yaml")  # of a dataset


class Tokenizer(NamedTuple):
    """A tokenizer: ids of each text, or distinct ids of all, without special tokens at the ends."""

    name: str
    encode: Callable[[list[str]], list[list[int]]]
    gather: Callable[[list[str]], set[int]]
    special: frozenset[int]


class Texts(NamedTuple):
    """The texts of a language."""

    prompts: list[str]  # of each row, with a slot; or sentences
    candidates: pa.ListArray | None = None  # for the slot; None: it is left empty
    by_candidate: Sequence[list[str] | None] | None = None  # a prompt for each one, if they differ

    def fill(self, row: int) -> list[str]:
        """Fill the slot of a row with nothing, or with each candidate."""
        if self.candidates is None:
            return [self.prompts[row].replace(SLOT, "")]
        names = self.candidates[row].as_py()
        prompts = self.by_candidate and self.by_candidate[row]
        prompts = prompts or [self.prompts[row]] * len(names)
        return [prompt.replace(SLOT, x) for prompt, x in zip(prompts, names, strict=True)]

    def fill_all(self) -> set[str]:
        """List all filled prompts."""
        return {text for row in range(len(self.prompts)) for text in self.fill(row)}

    def list_words(self) -> set[str]:
        """List the words of all filled prompts, see `split_at_blanks`."""
        if self.candidates is None or self.by_candidate:
            return {*chain.from_iterable(map(split_at_blanks, self.fill_all()))}
        # The words beside a slot are joined with each distinct candidate once: filled prompts are
        # some hundred times as many, and differ in few words.
        parts, frames = set[str](), dict[tuple[str, str], int]()
        places: np.ndarray = np.empty(len(self.prompts), np.int64)
        for row, prompt in enumerate(self.prompts):
            before, _, after = prompt.partition(SLOT)
            head, blank, start = before.rpartition(" ")
            end, space, tail = after.partition(" ")
            parts.update((head, space + tail))
            places[row] = frames.setdefault((blank + start, end), len(frames))
        coded = self.candidates.flatten().dictionary_encode()
        frame: np.ndarray = np.repeat(places, np.diff(self.candidates.offsets.to_numpy()))
        names, listed = coded.dictionary.to_pylist(), [*frames]
        pairs = np.unique(frame * len(names) + coded.indices.to_numpy())
        for number, name in zip(*np.divmod(pairs, len(names)), strict=True):
            start, end = listed[number]
            parts.add(f"{start}{names[name]}{end}")
        return {*chain.from_iterable(map(split_at_blanks, parts))}


class Corpus(NamedTuple):
    """The texts of each language (rows of the run or sentences of files), and their tokenizer."""

    name: str
    texts: Mapping[str, Texts]
    tokenizer: Tokenizer
    by_words: bool  # words are tokenized instead of sentences


def read_subwords(
    run: Run, tables: Mapping[str, pa.Table], name: str, model: str | None
) -> tuple[Corpus, Similarity]:
    """Compute the overlap of vocabularies of a run's languages, and return the corpus."""
    tokenizer = read_tokenizer(_find_place(run.settings(), model))
    if name in (FILLED, PROMPTS):
        texts = _list_texts(run, tables, name)
    else:
        texts = _read_parallel(name, [*tables])
    corpus = Corpus(name, texts, tokenizer, goes_by_words(tokenizer, texts))
    return corpus, compare_vocabularies([*tables], corpus)


def _find_place(settings: Settings, model: str | None) -> Place:
    if model is not None:
        return find_tokenizer(model)
    # The revision of a folder, and that of a served or imported model, is none of the Hub.
    local = is_hash(settings.revision) or settings.device in (SERVED, "unknown")
    try:
        return find_tokenizer(settings.model, None if local else settings.revision)
    except PolyprobeError as error:
        raise PolyprobeError(f"{error}; give the run's tokenizer with --tokenizer") from error


def read_tokenizer(place: Place) -> Tokenizer:
    """Read the tokenizer of a model, from tokenizer.json without transformers if it has one."""
    file = None if place.gguf else place.file("tokenizer.json")
    if file is None:
        slow = load_tokenizer(place)

        def encode(texts: list[str]) -> list[list[int]]:
            ids: list[list[int]] = slow(texts, add_special_tokens=False)["input_ids"]
            return ids

        special = frozenset(slow.all_special_ids)
        return Tokenizer(
            place.label, encode, lambda texts: {*chain.from_iterable(encode(texts))}, special
        )
    import tokenizers

    try:
        fast = tokenizers.Tokenizer.from_file(str(file))
    except Exception as error:  # the library's errors have no class of their own
        raise PolyprobeError(f"cannot read the tokenizer in {file}: {one_line(error)}") from error
    fast.no_truncation()
    fast.no_padding()
    call = partial(fast.encode_batch_fast, add_special_tokens=False)

    def gather(texts: list[str]) -> set[int]:
        parts = [texts[start : start + TOGETHER] for start in range(0, len(texts), TOGETHER)]
        return {*chain.from_iterable(x.ids for x in call(parts, is_pretokenized=True))}

    added = fast.get_added_tokens_decoder()
    special = frozenset(number for number, token in added.items() if token.special)
    return Tokenizer(place.label, lambda texts: [x.ids for x in call(texts)], gather, special)


def _list_texts(run: Run, rows: Mapping[str, pa.Table], name: str) -> dict[str, Texts]:
    """List the run's prompts as the model read them, and for `filled` their candidates."""
    settings, scored = run.settings(), next(iter(rows.values()))
    stop = settings.further.get(FINAL_STOP, "none")
    tables = as_asked(load_again(settings, [*rows]), settings.scoring, final_stop=stop)
    order = place_rows(next(iter(tables.values())), scored["fact_id"].to_pylist())
    texts = {}
    for language, table in tables.items():
        # Taking rows would copy every list of candidates.
        part = table if order == [*range(len(table))] else table.take(order)
        candidates = part["candidates"].combine_chunks() if name == FILLED else None
        prompts = part["prompts"].to_pylist() if has_prompts(part) else None
        texts[language] = Texts(part["prompt"].to_pylist(), candidates, prompts)
    return texts


def _read_parallel(name: str, languages: Sequence[str]) -> dict[str, Texts]:
    """Read the sentences of each language: files `LANGUAGE.*` of a folder, or splits."""
    parts = _read_files(Path(name)) if Path(name).is_dir() else {}
    parts = parts or _read_dataset(name)
    texts = {}
    for language in languages:
        key = next((key for key in name_keys(language) if key in parts), None)
        if key is not None:
            texts[language] = [*chain.from_iterable(parts[key])]
    if not texts:
        raise PolyprobeError(
            f"--corpus {name} has no language of the run: it has {', '.join(sorted(parts)[:5])}; "
            "name files or splits en.txt, eng_Latn.devtest, …"
        )
    first, *rest = texts
    for language in rest:
        if len(texts[language]) != len(texts[first]):
            raise PolyprobeError(
                f"--corpus {name} is not parallel: {first} has {len(texts[first]):,} sentences, "
                f"{language} {len(texts[language]):,}; align its lines"
            )
    return {language: Texts(sentences) for language, sentences in texts.items()}


def _read_files(folder: Path) -> dict[str, list[list[str]]]:
    parts: dict[str, list[list[str]]] = {}
    for file in sorted(folder.glob("[!.]*.*")):
        if file.is_file() and file.suffix not in OTHER_FILES:
            try:
                lines = file.read_text(encoding="utf-8-sig").removesuffix("\n").split("\n")
            except (OSError, UnicodeDecodeError) as error:
                raise PolyprobeError(f"cannot read {file} as text: {one_line(error)}") from error
            parts.setdefault(file.name.partition(".")[0].casefold(), []).append(lines)
    return parts


def _read_dataset(name: str) -> dict[str, list[list[str]]]:
    parts = {}
    for split, table in read_splits(name).items():
        columns = [x.name for x in table.schema if pa.types.is_string(x.type)]
        if not columns:
            raise PolyprobeError(f"--corpus {name}: the split {split} has no text column")
        parts[split.casefold()] = [[x or "" for x in table[columns[0]].to_pylist()]]
    return parts


def split_at_blanks(text: str) -> list[str]:
    """Split a text into its words, each with its preceding blank; double blanks are not split.

    >>> split_at_blanks("a b."), split_at_blanks(" a"), split_at_blanks("a  b")
    (['a', ' b.'], [' a'], ['a  b'])
    """
    if "  " in text:
        return [text]
    first, *words = text.split(" ")
    return [*filter(None, [first]), *(f" {word}" for word in words)]


def goes_by_words(tokenizer: Tokenizer, texts: Mapping[str, Texts]) -> bool:
    """Tell whether the words of some sentences give the same tokens as the sentences."""
    sentences: list[str] = []  # not the same if a token has a blank after another character
    for part in texts.values():
        rows = range(0, len(part.prompts), max(1, len(part.prompts) // TRIED))
        sentences += [part.fill(row)[0] for row in rows]
    words = [split_at_blanks(text) for text in sentences]
    ids = iter(tokenizer.encode([*chain.from_iterable(words)]))
    pieces = [[*chain.from_iterable(next(ids) for _ in of_text)] for of_text in words]
    return pieces == tokenizer.encode(sentences)


def find_vocabularies(corpus: Corpus) -> dict[str, set[int]]:
    """Gather the tokens of each language."""
    tokenizer = corpus.tokenizer
    return {
        language: tokenizer.gather([*(part.list_words() if corpus.by_words else part.fill_all())])
        - tokenizer.special
        for language, part in corpus.texts.items()
    }


def compare_vocabularies(languages: Sequence[str], corpus: Corpus) -> Similarity:
    """Compute |V and V'| / |V or V'| of each pair of languages."""
    vocabularies = find_vocabularies(corpus)
    sets = [vocabularies.get(language, set()) for language in languages]
    values = np.full((len(sets),) * 2, np.nan)
    for i, first in enumerate(sets):
        for j, second in enumerate(sets[:i]):
            if first and second:
                values[i, j] = values[j, i] = len(first & second) / len(first | second)
    name, tokenizer = corpus.name, corpus.tokenizer.name
    details: dict[str, Any] = {
        "corpus": name,
        "tokenizer": tokenizer,
        "tokenized": "words" if corpus.by_words else "sentences",
        "vocabulary": {x: len(tokens) for x, tokens in vocabularies.items()},
    }
    # a corpus of files may lack a language
    missing = {x: f"not in {name}" for x, tokens in zip(languages, sets, strict=True) if not tokens}
    description = f"overlap of vocabularies (equation 7), {tokenizer} on {name}"
    return Similarity(SUBWORDS, description, values, missing, details)
