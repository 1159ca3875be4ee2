"""Subword vocabularies of languages and their overlap (Qi et al. 2023, section 6.2, equation 7).

The vocabulary of a language is the set of the tokens of a corpus, without special tokens. No code
for it was released. The paper's corpora are BMLAMA and FLORES-200; ours are the run's own prompts,
each `filled` with all of its candidates or alone (`prompts`), or parallel files.

A filled prompt differs from another one in few words, so words are tokenized instead of sentences,
each with the blank before it. This gives the same tokens if none of them has a blank behind another
character; it is tried out on some sentences of each language, and if it fails, sentences are
tokenized.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from polyprobe.eval.analysis.tokens import find_tokenizer, load_tokenizer
from polyprobe.eval.run.dataset import load_again
from polyprobe.eval.run.protocol import as_asked
from polyprobe.eval.scoring.options import FINAL_STOP, SERVED
from polyprobe.eval.scoring.weights.places import Place
from polyprobe.schema.columns import SLOT, has_prompts
from polyprobe.schema.identity import key_rows
from polyprobe.schema.load import read_splits
from polyprobe.system.errors import PolyprobeError, one_line
from polyprobe.system.hashing import is_hash

from . import FILLED, PROMPTS, SUBWORDS
from .pairs import Pairs, Similarity, name_keys

TRIED = 20  # sentences of each language
FILES = "*.*"
Row = tuple[Sequence[str], Sequence[str]]  # the prompt, or one for each candidate; candidates
Encode = Callable[[list[str]], list[list[int]]]


class Tokenizer(NamedTuple):
    """A tokenizer: its name, ids of texts without special tokens at the ends, special tokens."""

    name: str
    encode: Encode
    special: frozenset[int]


class Corpus(NamedTuple):
    """The texts of each language, rows of the run or sentences of files, and their tokenizer.

    `by_words`: words are tokenized instead of sentences.
    """

    name: str
    rows: Mapping[str, Sequence[Row]]
    tokenizer: Tokenizer
    by_words: bool


def read_corpus(pairs: Pairs, name: str, model: str | None) -> Corpus:
    """Return the corpus of a name: `filled`, `prompts`, a folder, or a dataset on the Hub.

    Args:
        pairs: of the run.
        name: of the corpus.
        model: whose tokenizer; None: that of the run.

    Raises:
        PolyprobeError: the run's dataset has changed, or corpus or tokenizer cannot be read.
    """
    tokenizer = read_tokenizer(find_place(pairs, model))
    own = name in (FILLED, PROMPTS)
    rows = list_rows(pairs, name) if own else read_parallel(name, pairs.languages)
    return Corpus(name, rows, tokenizer, goes_by_words(tokenizer, rows))


def find_place(pairs: Pairs, model: str | None) -> Place:
    """Return where the tokenizer is, of the run's revision if it is the run's own."""
    if model is not None:
        return find_tokenizer(model)
    settings = pairs.run.settings()
    local = is_hash(settings.revision) or settings.device == SERVED
    try:
        return find_tokenizer(settings.model, None if local else settings.revision)
    except PolyprobeError as error:
        raise PolyprobeError(f"{error}; name the run's tokenizer by --tokenizer") from error


def read_tokenizer(place: Place) -> Tokenizer:
    """Return the tokenizer of a model, from tokenizer.json without transformers if it has one."""
    file = None if place.gguf else place.file("tokenizer.json")
    if file is None:
        slow = load_tokenizer(place)
        encode: Encode = lambda texts: slow(texts, add_special_tokens=False)["input_ids"]  # noqa: E731
        return Tokenizer(place.label, encode, frozenset(slow.all_special_ids))
    import tokenizers

    try:
        fast = tokenizers.Tokenizer.from_file(str(file))
    except Exception as error:  # the library's errors have no class of their own
        raise PolyprobeError(f"cannot read the tokenizer in {file}: {one_line(error)}") from error
    fast.no_truncation()
    fast.no_padding()
    added = fast.get_added_tokens_decoder()
    return Tokenizer(
        place.label,
        lambda texts: [x.ids for x in fast.encode_batch_fast(texts, add_special_tokens=False)],
        frozenset(number for number, token in added.items() if token.special),
    )


def list_rows(pairs: Pairs, name: str) -> dict[str, list[Row]]:
    """Return the run's prompts and what their slots are filled with: candidates, or nothing."""
    rows = {}
    for language, table in read_asked(pairs).items():
        candidates = [[""]] * len(table) if name == PROMPTS else table["candidates"].to_pylist()
        prompts = [[prompt] for prompt in table["prompt"].to_pylist()]
        if name == FILLED and has_prompts(table):
            own = table["prompts"].to_pylist()
            prompts = [every or one for every, one in zip(own, prompts, strict=True)]
        rows[language] = list(zip(prompts, candidates, strict=True))
    return rows


def read_asked(pairs: Pairs) -> dict[str, pa.Table]:
    """Return the prompts and candidates of the figure's rows as the run asked them."""
    settings = pairs.run.settings()
    stop = settings.further.get(FINAL_STOP, "none")
    tables = as_asked(load_again(settings, pairs.languages), settings.scoring, final_stop=stop)
    first = next(iter(tables.values()))
    places = {key: row for row, key in enumerate(key_rows(first["fact_id"].to_pylist()))}
    rows = [places[key] for key in key_rows(pairs.table["fact_id"].to_pylist())]
    same = rows == [*range(len(first))]
    return {x: table if same else table.take(rows) for x, table in tables.items()}


def read_parallel(name: str, languages: Sequence[str]) -> dict[str, list[Row]]:
    """Return the sentences of each language that a corpus has, as prompts without a slot.

    A folder has a file for each language, named by it before the first dot (`eng_Latn.devtest`,
    `en.txt`), or several, one after the other; a dataset has splits. Languages may be named as in
    `tables.read_table`.

    Raises:
        PolyprobeError: no language of the run, or languages with other numbers of sentences.
    """
    parts = _read_files(Path(name)) if Path(name).is_dir() else {}
    parts = parts or _read_dataset(name)
    found = {}
    for language in languages:
        key = next((key for key in name_keys(language) if key in parts), None)
        if key is not None:
            found[language] = [*chain.from_iterable(parts[key])]
    if not found:
        raise PolyprobeError(
            f"--corpus {name} has no language of the run: it has {', '.join(sorted(parts)[:5])}; "
            "name files or splits en.txt, eng_Latn.devtest, …"
        )
    first, *others = found
    for language in others:
        if len(found[language]) != len(found[first]):
            raise PolyprobeError(
                f"--corpus {name} is not parallel: {first} has {len(found[first]):,} sentences, "
                f"{language} {len(found[language]):,}; align its lines"
            )
    return {language: [([text], [""]) for text in texts] for language, texts in found.items()}


def _read_files(folder: Path) -> dict[str, list[list[str]]]:
    """Return the lines of each text file by the part of its name before the dot, in lower case."""
    found: dict[str, list[list[str]]] = {}
    for file in sorted(folder.glob(FILES)):
        if file.is_file() and file.suffix not in (".md", ".parquet", ".jsonl"):
            try:
                lines = file.read_text(encoding="utf-8").splitlines()
            except (OSError, UnicodeDecodeError) as error:
                raise PolyprobeError(f"cannot read {file} as text: {one_line(error)}") from error
            found.setdefault(file.name.partition(".")[0].casefold(), []).append(lines)
    return found


def _read_dataset(name: str) -> dict[str, list[list[str]]]:
    """Return the first column of text of each split by its name in lower case."""
    found = {}
    for split, table in read_splits(name).items():
        columns = [x.name for x in table.schema if pa.types.is_string(x.type)]
        if not columns:
            raise PolyprobeError(f"--corpus {name}: the split {split} has no column of text")
        found[split.casefold()] = [[x or "" for x in table[columns[0]].to_pylist()]]
    return found


def split_words(text: str) -> list[str]:
    """Return the words of a text, each with the blank before it; of two blanks in a row the text.

    >>> split_words("a b."), split_words(" a"), split_words("a  b")
    (['a', ' b.'], [' a'], ['a  b'])
    """
    if "  " in text:
        return [text]
    first, *others = text.split(" ")
    return [*filter(None, [first]), *(f" {word}" for word in others)]


def fill(prompt: str, candidate: str) -> str:
    """Return a prompt with its slot filled; a sentence without a slot stays."""
    return prompt.replace(SLOT, candidate)


def list_filled(rows: Iterable[Row]) -> Iterator[str]:
    """Yield every filled prompt."""
    for prompts, candidates in rows:
        every = prompts if len(prompts) > 1 else prompts * len(candidates)
        yield from map(fill, every, candidates)


def list_parts(rows: Iterable[Row]) -> set[str]:
    """Return parts of the filled prompts, cut at blanks, that have all of their words.

    The words beside the slot are filled with each of its candidates once.
    """
    parts, frames = set(), dict[tuple[str, str], set[str]]()
    for prompts, candidates in rows:
        for place, prompt in enumerate(prompts):
            before, slot, after = prompt.partition(SLOT)
            if "  " in prompt or not slot or candidates[0] == "":
                parts.update(list_filled([([prompt], candidates)]))
                continue
            head, blank, left = before.rpartition(" ")
            right, space, tail = after.partition(" ")
            parts.update((head, space + tail))
            chosen = candidates if len(prompts) == 1 else candidates[place : place + 1]
            frames.setdefault((blank + left, right), set()).update(chosen)
    for (left, right), found in frames.items():
        parts.update([f"{left}{candidate}{right}" for candidate in found])
    return parts


def goes_by_words(tokenizer: Tokenizer, rows: Mapping[str, Sequence[Row]]) -> bool:
    """Return whether the words of some sentences have the tokens of the sentences."""
    some: list[str] = []
    for own in rows.values():
        chosen = own[:: max(1, len(own) // TRIED)][:TRIED]
        some += (next(list_filled([row])) for row in chosen)
    words = [split_words(text) for text in some]
    ids = iter(tokenizer.encode([*chain.from_iterable(words)]))
    pieces = [[*chain.from_iterable(next(ids) for _ in of_text)] for of_text in words]
    return pieces == tokenizer.encode(some)


def list_texts(rows: Iterable[Row], by_words: bool) -> Collection[str]:
    """Return distinct texts that have all tokens of the filled prompts: words, or all of them."""
    if by_words:
        return {*chain.from_iterable(map(split_words, list_parts(rows)))}
    return {*list_filled(rows)}


def encode_distinct(tokenizer: Tokenizer, texts: Iterable[str]) -> dict[str, frozenset[int]]:
    """Return the tokens of each distinct text, without special ones."""
    distinct = [*{*texts}]
    ids = tokenizer.encode(distinct)
    return {x: frozenset(own) - tokenizer.special for x, own in zip(distinct, ids, strict=True)}


def find_vocabularies(corpus: Corpus) -> dict[str, frozenset[int]]:
    """Return the tokens of each language."""
    texts = {x: list_texts(rows, corpus.by_words) for x, rows in corpus.rows.items()}
    ids = encode_distinct(corpus.tokenizer, chain.from_iterable(texts.values()))
    return {x: frozenset().union(*(ids[text] for text in own)) for x, own in texts.items()}


def compare_vocabularies(languages: Sequence[str], corpus: Corpus) -> Similarity:
    """Return |V and V'| / |V or V'| of each pair of languages."""
    found = find_vocabularies(corpus)
    known = [found.get(language) or frozenset() for language in languages]
    values = np.full((len(known),) * 2, np.nan)
    for i, one in enumerate(known):
        for j, other in enumerate(known[:i]):
            if one and other:
                values[i, j] = values[j, i] = len(one & other) / len(one | other)
    name, tokenizer = corpus.name, corpus.tokenizer.name
    missing = {x: f"not in {name}" for x, own in zip(languages, known, strict=True) if not own}
    details: dict[str, Any] = {
        "corpus": name,
        "tokenizer": tokenizer,
        "tokenized": "words" if corpus.by_words else "sentences",
        "vocabulary": {x: len(own) for x, own in found.items()},
    }
    says = f"overlap of vocabularies (equation 7), {tokenizer} on {name}"
    return Similarity(SUBWORDS, says, values, missing, details)
