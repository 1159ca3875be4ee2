"""Code-switched sentences: linked text with names of another language.

X-FACTR (Jiang et al. 2020, section 6, table 4) trains on sentences whose entities have their
English names, and on English sentences with names of the other language.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from polyprobe.metrics.shared.names import Names
from polyprobe.schema.columns import SLOT, split_name
from polyprobe.schema.languages import refuse_languages
from polyprobe.schema.run.shapes import find_wrong_shape
from polyprobe.system.files import read_tsv, read_user_text
from polyprobe.system.messages import PolyprobeError, check_option, track

from . import FREQUENCY, LABEL

MOST_TOKENS = 128  # sentences of X-FACTR have fewer
# A mention of the released format, or the beginning of one that another mention cuts short
_LINKED = re.compile(r"\[\[ ((?:(?!\[\[ ).)*?) \]\]_[xy]_(Q\d+)|\[\[ ")
_SHAPE = {"text": str, "mentions": [{"start": int, "end": int, "entity": str, ...: Any}], ...: Any}
_EXAMPLE = '{"text": "Paris is big.", "mentions": [{"start": 0, "end": 5, "entity": "Q90"}]}'

Link = tuple[int, int, str]  # characters [start, end) of a text, and the entity that they name
Sentence = tuple[str, Sequence[Link]]  # links are in order and do not overlap


class LinkedText(NamedTuple):
    """Linked sentences and labels of entities, by language; counts of pairs and omissions."""

    sentences: dict[str, list[Sentence]]
    labels: dict[str, dict[str, str]]
    counts: Counter[str]


def read_corpus(
    sources: Sequence[str],
    languages: Sequence[str],
    config: str | None = None,
    labels: Sequence[str] = (),
    tokenizer: Any = None,
) -> LinkedText:
    """Read linked sentences of fewer than 128 tokens, and the labels of entities.

    Args:
        sources: `LANGUAGE=FILE` of linked text: JSON lines with `text` and `mentions` (`start` and
            `end` in characters, `entity`) if its name ends in .jsonl, else the released format of
            X-FACTR. Or a dataset: its rows with the right answer, linked by the ids of subject and
            answer; its subjects and candidates are labels.
        languages: at least two, names of splits.
        config: configuration of the dataset.
        labels: `LANGUAGE=FILE` of further labels, with lines of entity, tab, name.
        tokenizer: counts tokens, special ones too (default: words between blanks, as released).

    Raises:
        PolyprobeError: an unreadable file or line; in JSON a mention outside its text, or two that
            overlap. In the released format one of these two has no id; it is left out and counted.
    """
    if len({*languages}) < 2:
        raise PolyprobeError("--languages: expected at least two codes, such as en,el")
    corpus = LinkedText({x: [] for x in languages}, {x: {} for x in languages}, Counter())
    for source in sources:
        for language, sentence in track(_read_source(source, config, corpus), source):
            ids = tokenizer(sentence[0])["input_ids"] if tokenizer else sentence[0].split()
            if len(ids) < MOST_TOKENS:
                corpus.sentences[language].append(sentence)
            else:
                corpus.counts[f"{language}, left out: {MOST_TOKENS} tokens or more"] += 1
    for source in labels:
        language, file = _split_source(source, languages)
        for number, (entity, *names) in read_tsv(file, "--labels"):
            if not (entity and names and names[0]):
                text = f"--labels {file}, line {number}: expected an entity, a tab and a name"
                raise PolyprobeError(text)
            corpus.labels[language].setdefault(entity, names[0])
    return corpus


def _split_source(source: str, languages: Iterable[str]) -> tuple[str, Path]:
    language, _, name = source.partition("=")
    if not (language and name):
        raise PolyprobeError(f"expected LANG=FILE, such as en=en.tsv, not {source!r}")
    refuse_languages([split_name(language)], "--languages", [*languages])
    return split_name(language), Path(name)


def _read_source(
    source: str, config: str | None, corpus: LinkedText
) -> Iterator[tuple[str, Sentence]]:
    if "=" not in source:
        yield from _read_dataset(source, config, corpus.labels)
        return
    language, file = _split_source(source, corpus.sentences)
    for number, line in enumerate(read_user_text(file).split("\n"), start=1):
        place = f"{file}, line {number}, language '{language}'"
        if line.strip() and file.suffix == ".jsonl":
            yield language, _read_json(line, place)
        elif line.strip():
            yield language, _read_released(line, place, corpus.counts)


def _read_json(line: str, place: str) -> Sentence:
    try:
        row = json.loads(line)
        if fault := find_wrong_shape(row, _SHAPE, "the line"):
            raise ValueError(fault)
        rows, text = row["mentions"], row["text"]
        mentions = sorted((x["start"], x["end"], x["entity"]) for x in rows)
    except (ValueError, KeyError) as error:
        fault = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise PolyprobeError(f"{place}: {fault}; expected {_EXAMPLE}") from error
    before = 0
    for start, end, entity in mentions:
        name = f"{place}: the mention of {entity} at {start} to {end}"
        if not start < end <= len(text):
            raise PolyprobeError(f"{name} is outside the text of {len(text)} characters")
        if start < before:
            raise PolyprobeError(f"{name} overlaps the one before; leave one of them out")
        before = end
    return text, mentions


def _read_released(line: str, place: str, counts: Counter[str]) -> Sentence:
    relation, tab, marked = line.partition("\t")
    if not tab:
        text = f"{place}: no tab behind {relation[:20]!r}; expected P17, a tab, [[ name ]]_x_Q90 …"
        raise PolyprobeError(f"{text}, or JSON lines in a file that ends in .jsonl")
    text, end, mentions = "", 0, []
    for match in _LINKED.finditer(marked):
        text += marked[end : match.start()]
        if match[2] and match[1].strip():
            mentions.append((len(text), len(text + match[1]), match[2]))
        else:
            counts[f"mentions left out, since they {'are empty' if match[2] else 'overlap'}"] += 1
        text, end = text + (match[1] or ""), match.end()
    return text + marked[end:].rstrip(), mentions


def _read_dataset(
    dataset: str, config: str | None, labels: dict[str, dict[str, str]]
) -> Iterator[tuple[str, Sentence]]:
    from polyprobe.schema.load import load_facts  # imports datasets

    for language, table in load_facts(dataset, config, [*labels]).items():
        for row in table.to_pylist():
            place, names, size = row["answers"][0], row["candidates"], len(row["candidates"])
            ids = [*(row.get("candidate_ids") or ()), *[""] * size][:size]
            subject, subject_id = row.get("subject"), row.get("subject_id")
            for entity, name in zip([*ids, subject_id], [*names, subject], strict=True):
                if entity and name:
                    labels[language].setdefault(entity, name)
            prompt = row["prompts"][place] if row.get("prompts") else row["prompt"]
            before, _, after = prompt.partition(SLOT)
            end = len(before + names[place])
            mentions = [(len(before), end, ids[place])] if ids[place] else []
            if subject and subject_id:
                # It may be inflected. The answer, which may contain it, is hidden.
                text = before + " " * (end - len(before)) + after
                places = Names({subject_id: {language: [subject]}}, language).find(text)
                places = [x for x in places if x.end <= len(before) or x.start >= end]
                if best := max(places, key=lambda x: x.score, default=None):
                    mentions.append((best.start, best.end, subject_id))
            yield language, (before + names[place] + after, sorted(mentions))


def switch_sentences(
    corpus: LinkedText, names: str = FREQUENCY, seed: int = 0
) -> Iterator[dict[str, Any]]:
    """Yield pairs of a raw and a switched sentence, the first language with each other, both ways.

    With `frequency` a name is drawn from the forms of the entity in the target language's own
    sentences, in proportion to their counts (`--random_alias` of the released code), or is the
    label where they have none; with `label` it is the label. A mention without a name in the target
    language stays raw; a sentence of such mentions is left out and counted.

    Yields:
        `raw` and `switched`, each with `text` and `mentions` (start and end of the names that were
        switched), `language` and `target`. Equal arguments give equal pairs.
    """
    check_option("names", names, (FREQUENCY, LABEL))
    first, *rest = corpus.sentences
    for language, target in [pair for x in rest for pair in ((first, x), (x, first))]:
        random, forms = Random(f"{seed}|{language}|{target}"), defaultdict[str, Counter](Counter)
        for text, mentions in corpus.sentences[target] if names == FREQUENCY else ():
            for start, end, entity in mentions:
                forms[entity][text[start:end]] += 1
        for text, mentions in corpus.sentences[language]:
            raw, switched, changed, before = [], [], "", 0
            for start, end, entity in mentions:
                name = corpus.labels[target].get(entity)
                if counts := forms.get(entity):
                    name = random.choices([*counts], [*counts.values()])[0]
                if name:
                    changed += text[before:start]
                    raw.append([start, end])
                    switched.append([len(changed), len(changed + name)])
                    changed, before = changed + name, end
            corpus.counts[f"{language} to {target}, {'pairs' if raw else 'without a name'}"] += 1
            if raw:
                yield {
                    "raw": {"text": text, "mentions": raw},
                    "switched": {"text": changed + text[before:], "mentions": switched},
                    "language": language,
                    "target": target,
                }
