"""Runs of words in a sentence that match a label, inflected or not."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from operator import mul
from typing import NamedTuple

from polyprobe.metrics.shared.similarity import compare_words
from polyprobe.metrics.shared.words import Word

LEAST = 60.0  # least similarity of a sentence's word and a label's
INSERTED = 5.0  # cost of an inserted word
OMITTED = 10.0  # cost of an omitted article or preposition of the label
BETTER = 10.0  # least lead of another label
MARGIN = 20.0  # greatest distance of the rightmost run from the best score
ARTICLES = frozenset(["the", "los", "las", "les", "den", "der", "die", "das"])
MARK = re.compile(r"[—–«»\"“”„():;,]|\s-\s")
# {number of words: {(words of a label, these words or those that are not generic nouns)}}
Rivals = dict[int, set[tuple[tuple[Word, ...], tuple[Word, ...]]]]


class LabelWords(NamedTuple):
    """A label or alias as words; the sets contain positions of words."""

    words: tuple[Word, ...]
    # Words that a sentence must have: all except generic nouns, and except articles and
    # prepositions in a name of several words.
    core: tuple[int, ...]
    generic: frozenset[int]  # nouns that many labels of the call share
    small: frozenset[int]  # lower-case words
    has_marks: bool  # between the words
    inflected: bool


class Span(NamedTuple):
    """Words `[first, last]` of a sentence, their score, and the number of matched words."""

    first: int
    last: int
    score: float
    matched: int


def make_name(
    label: str, words: Sequence[Word], generic: Collection[str], inflected: bool = True
) -> LabelWords:
    """Return a label as a name; `generic` are the lemmas of nouns that sentences may omit."""
    shared = frozenset(place for place, word in enumerate(words) if word.lemma in generic)
    small = frozenset(place for place, word in enumerate(words) if label[word.start].islower())
    little = set()  # articles and prepositions in a name with a longer word
    if any(len(word.form) > 3 for word in words):
        little = {place for place in small if len(words[place].form) <= 3}
        if len(words[0].form) <= 2 or words[0].form in ARTICLES:
            little.add(0)
    core = tuple(place for place, _ in enumerate(words) if place not in shared | little)
    inside = label[words[0].end : words[-1].start] if words else ""
    if not core:
        core, shared = tuple(range(len(words))), frozenset()
    return LabelWords(tuple(words), core, shared, small, bool(MARK.search(inside)), inflected)


def spare(name: LabelWords, words: Sequence[Word], shared: Collection[str]) -> LabelWords:
    """Return a name whose first or last word is not needed, if the sentence has it elsewhere."""
    # The word is in lower case, or its lemma in `shared`: at the same end of many labels.
    # Sentences avoid the repetition: `Bahasa asli … adalah Tamil`, `Его родной язык — русский`.
    edges = {0, len(name.words) - 1} & set(name.core)
    lemmas = {word.lemma for word in words}
    spared = [
        place
        for place in sorted(edges, reverse=True)
        if name.words[place].lemma in lemmas
        and (place in name.small or name.words[place].lemma in shared)
    ]
    if not spared or len(name.core) < 2:
        return name
    core = tuple(place for place in name.core if place != spared[0])
    generic, small = name.generic | {spared[0]}, name.small | {spared[0]}
    return name._replace(core=core, generic=generic, small=small)


def find_spans(text: str, words: Sequence[Word], name: LabelWords) -> list[Span]:
    """Return the runs of words that contain all needed words of the name."""
    grid = [[compare_words(word, part, name.inflected) for part in name.words] for word in words]
    places = {place for place, row in enumerate(grid) if max(row) >= LEAST}
    # A run begins and ends with a word of the name. It may have one other word if all words of the
    # name occur in order. Adjacent generic nouns are part of the run.
    return [
        span
        for first in sorted(places)
        for last in range(first, first + len(name.words) + 1)
        if last in places and (span := rate(grid, first, last, name))
        if name.has_marks or not MARK.search(text[words[first].end : words[last].start])
    ]


def rate(grid: Sequence[Sequence[float]], first: int, last: int, name: LabelWords) -> Span | None:
    """Return a run of words with its score, None if it does not match the name."""
    matches = pair(grid, first, last)
    inside = last - first + 1 - len(matches)
    ends = first in matches.values() and last in matches.values()
    if not ends or any(part not in matches for part in name.core):
        return None
    ordered = [matches[part] for part in sorted(matches)]
    complete = len(matches) == len(name.words) and ordered == sorted(ordered)
    generic = name.generic & matches.keys()
    # A stranger between the words is allowed only where nothing else is uncertain.
    if inside and (not complete or generic):
        return None
    # A generic noun must be on the same side of the needed words as in the label.
    if any((a < b) != (matches[a] < matches[b]) for a in generic for b in name.core):
        return None
    # The score is the mean similarity of the needed words, weighted by length.
    weights = {part: len(name.words[part].form) for part in name.core}
    score = sum(grid[matches[part]][part] * weight for part, weight in weights.items())
    omitted = len(name.words) - len(name.generic | matches.keys() | set(name.core))
    cost = INSERTED * inside + OMITTED * omitted
    return Span(first, last, score / sum(weights.values()) - cost, len(matches))


def pair(grid: Sequence[Sequence[float]], first: int, last: int) -> dict[int, int]:
    """Return {word of the name: word of the run}, paired greedily by similarity."""
    pairs = sorted(
        (-score, abs(place - first - part), place, part)
        for place in range(first, last + 1)
        for part, score in enumerate(grid[place])
        if score >= LEAST
    )
    matches: dict[int, int] = {}
    for _, _, place, part in pairs:
        if part not in matches and place not in matches.values():
            matches[part] = place
    return matches


def choose_span(spans: Sequence[Span]) -> Span | None:
    """Return the rightmost run within MARGIN of the best score, None without runs."""
    # Objects tend to be late in a sentence: a slightly worse run further on is taken.
    best = max((span.score for span in spans), default=0.0)
    candidates = [span for span in spans if span.score >= best - MARGIN]
    return max(candidates, key=lambda span: (span.last, span.matched, span.score), default=None)


def list_rivals(names: Iterable[LabelWords]) -> Rivals:
    """Return the rivals: all words of each name, and those that are not generic nouns."""
    rivals: Rivals = defaultdict(set)
    for name in names:
        bare = tuple(word for place, word in enumerate(name.words) if place not in name.generic)
        for words in (name.words, bare):
            rivals[len(words)].add((name.words, words))
    return rivals


def is_beaten(words: Sequence[Word], span: Span, name: LabelWords, rivals: Rivals) -> bool:
    """Tell whether a run of words is more similar to another label of the call."""
    # The sentence was made with its own label, so another label must score ten points more. If the
    # run omits a word of its own label (Oklahoma is not Oklahoma City), an equal score suffices,
    # unless the omitted word is a lower-case generic noun (`engleski jezik`).
    complete = span.matched >= len(name.words) - len(name.generic & name.small)
    if span.score >= 100 and complete:
        return False
    run = words[span.first : span.last + 1]
    for label, rival in rivals.get(len(run), ()):
        if label != name.words:
            weights = [len(word.form) for word in rival]
            scores = [compare_words(*pair, name.inflected) for pair in zip(run, rival, strict=True)]
            score = sum(map(mul, scores, weights)) / sum(weights)
            if score >= span.score + (BETTER if complete else 0):
                return True
    return False
