"""Fluent-mLAMA's rows as released, and the methods of finding objects compared on them.

The reader in builder/ cleans the texts; here they are unchanged, since the extraction of the paper
counts characters.
"""

import csv
import io
import random
import re
import zipfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rapidfuzz.fuzz import ratio

from polyprobe.builder.objects import find as objects
from polyprobe.builder.objects.find import UNSEGMENTED, ObjectSpan
from polyprobe.builder.objects.lemmatizers import Lemmatizer, load_lemmatizer
from polyprobe.builder.sources.fluent_mlama import ARCHIVE, FAILED, FILE, REPOSITORY, SEPARATOR
from polyprobe.metrics.shared.names import Word
from polyprobe.system.download import read_files

THRESHOLD = 75
HEADS = {"ru": " язык"}
"""Languages whose released objects leave out the noun that many labels share, and that noun."""
FUZZY = "fuzzy baseline"


class Row(NamedTuple):
    """A released sentence, the object's label and aliases, and the position found by the paper."""

    language: str
    relation: str
    subject_id: str
    object_id: str
    sentence: str
    label: str
    aliases: tuple[str, ...]
    prompt: str
    form: str

    @property
    def fact(self) -> tuple[str, str, str, str]:
        """Return the identity of the row: language, relation, subject and object."""
        return self[:4]

    @property
    def verbatim(self) -> bool:
        """Return whether the sentence contains the label unchanged."""
        return self.label in self.sentence

    def agrees(self, found: ObjectSpan | None) -> bool:
        """Return whether the object and the text before it equal the paper's."""
        return bool(found) and (self.sentence[: found.start], found.form) == (
            self.prompt,
            self.form,
        )


class Way(NamedTuple):
    """A method of finding objects: a lemmatiser's name or FUZZY, and its options."""

    name: str
    drop_head_noun: bool = False
    by_relation: bool = False


def read_rows(mirror: Path | None, languages: Sequence[str]) -> dict[str, list[Row]]:
    """Return the rows whose object the paper found, by language, in the order of the files."""
    rows: dict[str, list[Row]] = {language: [] for language in languages}
    [content] = read_files(REPOSITORY, [ARCHIVE], mirror)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in sorted(archive.namelist()):
            place = FILE.fullmatch(name)
            if place and place["language"] in rows:
                text = io.StringIO(archive.read(name).decode("utf-8"), newline="")
                records = csv.DictReader(text, delimiter="\t", strict=True)
                read = (parse_row(place["language"], place["relation"], r) for r in records)
                found = (row for row in read if row.form and FAILED not in (row.prompt, row.form))
                rows[place["language"]].extend(found)
    return rows


def parse_row(language: str, relation: str, record: dict[str, str]) -> Row:
    """Return a row with unchanged texts and split aliases."""
    return Row(
        language,
        relation,
        record["sub_uri"],
        record["obj_uri"],
        record["gt_translation"],
        record["obj_label"],
        tuple(alias for alias in record["aliases"].split(SEPARATOR) if alias.strip()),
        record["gt_prompt"],
        record["gt_infl_object"],
    )


def relabel(rows: Sequence[Row], seed: int = 0) -> list[Row]:
    """Return the rows with another label of the relation, drawn at random, and its aliases.

    Rows of a relation with a single label are excluded.
    """
    names: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
    for row in rows:
        names[row.relation].setdefault(row.label, row.aliases)
    labels = {relation: sorted(found) for relation, found in names.items()}
    drawn = random.Random(seed)
    others = []
    for row in rows:
        choice = [label for label in labels[row.relation] if label != row.label]
        if choice:
            label = drawn.choice(choice)
            others.append(row._replace(label=label, aliases=names[row.relation][label]))
    return others


def find(rows: Sequence[Row], way: Way, stanza_dir: Path | None) -> list[ObjectSpan | None]:
    """Return the positions of labels by a method, in one call for a language or each relation."""
    if way.name == FUZZY:
        noun = HEADS[rows[0].language] if way.drop_head_noun else ""
        return [
            find_fuzzy(row.sentence, row.label.removesuffix(noun), row.language) for row in rows
        ]
    calls: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        calls[row.relation if way.by_relation else ""].append(place)
    found: list[ObjectSpan | None] = [None] * len(rows)
    for places in calls.values():
        answers = objects.find_objects(
            [rows[place].sentence for place in places],
            [rows[place].label for place in places],
            rows[0].language,
            way.name,
            stanza_dir,
            [rows[place].aliases for place in places],
            way.drop_head_noun,
            THRESHOLD,
        )
        for place, answer in zip(places, answers, strict=True):
            found[place] = answer
    return found


def find_fuzzy(sentence: str, label: str, language: str) -> ObjectSpan | None:
    """Return the most similar window with as many words as the label, or the rightmost of several.

    A word is a single character in languages written without spaces.
    """
    word = re.compile(r"\w" if language in UNSEGMENTED else r"\w+")
    size, words = len(word.findall(label)), list(word.finditer(sentence))
    best = None
    for first, last in zip(words, words[size - 1 :], strict=False):
        start, end = first.start(), last.end()
        score = ratio(sentence[start:end], label)
        if score >= max(THRESHOLD, best.score if best else 0):
            best = ObjectSpan(start, end, sentence[start:end], score)
    return best


class Remembering:
    """A lemmatiser that caches its results across calls."""

    def __init__(self, lemmatizer: Lemmatizer) -> None:
        self._lemmatizer = lemmatizer
        self._words: dict[str, list[Word]] = {}

    def read(self, texts: Sequence[str]) -> list[list[Word]]:
        """Return the words of each text."""
        new = [text for text in dict.fromkeys(texts) if text not in self._words]
        self._words.update(zip(new, self._lemmatizer.list_words(new), strict=True))
        return [self._words[text] for text in texts]


def remember_words() -> None:
    """Make `find_objects` cache lemmatisers and words, for results that are not timed."""
    kept: dict[tuple[str, str], Lemmatizer] = {}

    def load(name: str, language: str, stanza_dir: Path | None = None) -> Lemmatizer:
        if (name, language) not in kept:
            found = load_lemmatizer(name, language, stanza_dir)
            kept[name, language] = found._replace(list_words=Remembering(found).read)
        return kept[name, language]

    objects.load_lemmatizer = load
