"""Find the object in a translated sentence, inflected or not.

Fluent-mLAMA (arXiv:2510.15115, 3.2) searches for the lemmas of the object's label in the sentence
with Stanza. Here each run of words is scored against the label by form and lemma (`similarity`).
The object is the rightmost run with about the best score. A run that is more similar to another
label of the call is excluded. Comparison with the paper's extraction: bench/objects.md.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from operator import mul
from pathlib import Path
from typing import NamedTuple

from rapidfuzz.fuzz import partial_ratio_alignment

from polyprobe.metrics.shared.names import UNSEGMENTED, Word
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.options import check_arguments

from .endings import Endings, load_endings
from .lemmatizers import load_lemmatizer

MARKS = "!?.…+#"  # at the end of a name (Yahoo!, Apple Inc., C++)
MARKED = re.compile(r"[-'’:]([^\W\d_]+)(?![\w'’-])")  # CBS-u, USA:n, unless it is a separate word
LETTERS = 3  # of a marked ending that is in no list, at most
PARENTHESIS = re.compile(r"\s*[(（\[][^)）\]]*[)）\]]")
SHORT = 3  # letters; shorter aliases can be codes (en, es, ru)
SHARED_BY, ENDED_BY = 3, 4  # labels
SHARE_SMALL, SHARE_MOST = 0.2, 0.6  # of the labels of several words
LEAST = 60.0  # least similarity of a sentence's word and a label's
INSERTED = 5.0  # cost of an inserted word
OMITTED = 10.0  # cost of an omitted article or preposition of the label
LOWER = 12.0  # cost of capitals that a word lacks if it only resembles the label's
BETTER = 10.0  # least lead of another label
NEAR = 5.0  # the same for a run that only resembles the name, if the best one is a form of it
MARGIN = 20.0  # greatest distance of the rightmost run from the best score
ARTICLES = frozenset(["the", "los", "las", "les", "den", "der", "die", "das"])
BREAK = re.compile(r"[—–«»\"“”„():;,]|\s-\s")


class ObjectSpan(NamedTuple):
    """An object in a sentence: characters `[start, end)`, form, and score."""

    start: int
    end: int
    form: str
    # 0 to 100; 100 means that the form, or all lemmas, equal the label's.
    score: float


class LabelWords(NamedTuple):
    """A label or alias as words; the sets contain positions of words."""

    words: tuple[Word, ...]
    # Words that a sentence must have: all except generic nouns, and except articles and
    # prepositions in a name of several words.
    core: tuple[int, ...]
    generic: frozenset[int]  # nouns that many labels of the call share
    small: frozenset[int]  # lower-case words
    capitals: tuple[int, ...]  # of each word, at most two
    has_marks: bool  # between the words
    endings: Endings


# {number of words: {(a label, its words or those that are not generic nouns)}}
Rivals = dict[int, set[tuple[LabelWords, tuple[int, ...]]]]
Grid = Sequence[Sequence[float]]  # similarity of each word of a sentence and of a name
Pair = tuple[int, int]  # of their places


class Span(NamedTuple):
    """Words `[first, last]` of a sentence, their score, and the number of matched words."""

    first: int
    last: int
    score: float
    matched: int
    sure: bool  # forms of the name by rule or lemma, with its capitals


@check_arguments
def find_objects(
    sentences: Sequence[str],
    labels: Sequence[str],
    language: str,
    lemmatizer: str = "stanza",
    stanza_dir: Path | str | None = None,
    aliases: Sequence[Sequence[str]] | None = None,
    drop_head_noun: bool = False,
    threshold: float = 75,
) -> list[ObjectSpan | None]:
    """Return the object in each sentence, None if it is not found.

    Args:
        sentences: translated sentences. Pass all sentences of a language in one call: shared nouns
            and rival labels are determined from the labels of the call.
        labels: the object's label for each sentence; parentheses are ignored.
        language: code, such as `uk`.
        lemmatizer: `stanza`, `simplemma`, `none`, or `auto`, see `lemmatizers.load_lemmatizer`.
        stanza_dir: folder of Stanza's models.
        aliases: further names for each object, searched if the label is not found.
        drop_head_noun: exclude from the form a noun that many labels share (`язык` in `русский
            язык`), as in Fluent-mLAMA's Russian data. Sentences without the noun are found in
            either case.
        threshold: lowest score of a span, 0 to 100.

    Returns:
        One entry for each sentence. `form` consists of whole words; in languages without spaces it
        is the label, or the most similar characters.

    Raises:
        PolyprobeError: lists of different lengths, an unknown lemmatizer or language.
    """
    aliases = [()] * len(labels) if aliases is None else aliases
    if not len(sentences) == len(labels) == len(aliases):
        raise PolyprobeError(
            f"{len(sentences)} sentences, {len(labels)} labels and {len(aliases)} lists of aliases "
            f"in {language}; expected as many of each"
        )
    names = []
    for label, more in zip(labels, aliases, strict=True):
        short, comma, _ = label.partition(", ")  # without its location: Boston, Massachusetts
        names.append((label, *more, *([short] if comma and short.strip() else [])))
    pairs = zip(sentences, names, strict=True)
    if language.partition("-")[0] in UNSEGMENTED:
        return [find_characters(*pair, threshold) for pair in pairs]
    list_words = load_lemmatizer(lemmatizer, language, stanza_dir).list_words
    reader = Reader(list_words, sentences, names, load_endings(language), threshold)
    return [reader.find(*pair, drop_head_noun) for pair in pairs]


def find_characters(sentence: str, names: Sequence[str], threshold: float) -> ObjectSpan | None:
    """Return the rightmost occurrence in a sentence of the first name that it contains."""
    names = [PARENTHESIS.sub("", name) or name for name in names if re.search(r"\w", name)]
    for name in names:
        if (place := sentence.rfind(name)) >= 0:
            return ObjectSpan(place, place + len(name), name, 100.0)
    if not names:
        return None
    # Without any of the names, the characters most similar to the label.
    alignment = partial_ratio_alignment(names[0], sentence, score_cutoff=threshold)
    if not alignment or alignment.dest_end - alignment.dest_start < len(names[0]) * threshold / 100:
        return None
    form = sentence[alignment.dest_start : alignment.dest_end]
    return ObjectSpan(alignment.dest_start, alignment.dest_end, form, alignment.score)


class Reader:
    """The words of a call's sentences and names, the labels' shared nouns, and rival labels."""

    def __init__(
        self,
        list_words: Callable[[Sequence[str]], list[list[Word]]],
        sentences: Sequence[str],
        names: Sequence[Sequence[str]],
        endings: Endings,
        threshold: float,
    ) -> None:
        self._endings, self._threshold = endings, threshold
        labels = list(dict.fromkeys(group[0] for group in names))
        bare = {name: PARENTHESIS.sub("", name) or name for group in names for name in group}
        texts = list(dict.fromkeys([*sentences, *bare.values()]))
        self._words = dict(zip(texts, map(endings.fold, list_words(texts)), strict=True))
        of_labels = {bare[label]: self._words[bare[label]] for label in labels}
        generic, self._edges, self._heads = find_shared_nouns(of_labels)
        self._names = {
            name: make_name(text, self._words[text], generic, endings)
            for name, text in bare.items()
            if self._words[text]
        }
        self._rivals: Rivals = defaultdict(set)
        for name in (self._names[label] for label in labels if label in self._names):
            places = range(len(name.words))
            for part in (places, [place for place in places if place not in name.generic]):
                self._rivals[len(part)].add((name, tuple(part)))

    def find(self, sentence: str, names: Sequence[str], drop_head_noun: bool) -> ObjectSpan | None:
        """Return the label in a sentence, else the best alias, else None."""
        words = self._words[sentence]
        best = choose_span(self._search(sentence, names[0]))
        if not best or best.score < 100:
            spans = [
                span
                for name in names[1:]
                for span in self._search(sentence, name)
                # A short alias must match exactly and not be lower-case.
                if len(name) > SHORT
                or sentence[words[span.first].start : words[span.last].end] == name != name.lower()
            ]
            if best:  # an exact alias replaces an inexact label to its left
                spans = [x for x in spans if x.score == 100 and x.first > best.last]
            best = choose_span(spans) or best
        if not best:
            return None
        run: Sequence[Word] = words[best.first : best.last + 1]
        rest = words[best.last + 1 :]
        name = self._names.get(names[0])
        if drop_head_noun:
            run = drop_heads(run, self._heads, self._endings)
        elif name and len(name.words) - 1 in name.generic:
            # The generic noun at the end of the label is part of the form.
            run = [*run, *(word for word in rest[:1] if word.lemma == name.words[-1].lemma)]
        start, end = run[0].start, run[-1].end
        # A lower-case ending after a mark belongs to the form (CBS-u).
        ending = MARKED.match(sentence, end)
        if ending and (len(ending[1]) <= LETTERS or self._endings.has(ending[1])):
            end = ending.end() if ending[1].islower() else end
        # Tokenizers cut final marks off names (Yahoo!), so they are added back.
        mark = names[0][len(names[0].rstrip(MARKS)) :]
        end += len(mark) if sentence[start : end + len(mark)] == names[0] else 0
        return ObjectSpan(start, end, sentence[start:end], best.score)

    def _search(self, sentence: str, name: str) -> list[Span]:
        """Return the spans above the threshold that are not more similar to another label."""
        if name not in self._names:
            return []
        label, words = self._names[name], self._words[sentence]
        spared = spare(label, words, self._edges)
        for each in [label] if spared is label else [label, spared]:
            if spans := [
                span
                for span in find_spans(sentence, words, each)
                if span.score >= self._threshold and not is_beaten(words, span, each, self._rivals)
            ]:
                return spans
        return []


def find_shared_nouns(labels: Mapping[str, Sequence[Word]]) -> tuple[set[str], set[str], set[Word]]:
    """Return the nouns that labels share: `язык`, `idioma`, `bahasa`, `Records`.

    Lemmas that a sentence may omit, those at the same end of three labels or more, and the words
    of head nouns, for `drop_heads`.
    """
    several = {label: words for label, words in labels.items() if len(words) > 1}
    edges: dict[tuple[str, int], list[Word]] = defaultdict(list)
    small: Counter[tuple[str, int]] = Counter()
    for label, words in several.items():
        for place in (0, -1):
            edge = (words[place].lemma, place)
            edges[edge].append(words[place]._replace(start=0, end=0))
            small[edge] += label[words[place].start].islower()
    generic, shared, heads = set[str](), set[str](), set[Word]()
    for (lemma, place), members in edges.items():
        if len(members) < max(SHARED_BY, SHARED_BY * len(edges.get((lemma, -1 - place), []))):
            continue
        shared.add(lemma)
        share = len(members) / len(several)
        # A head noun is lower-case in most of these labels and in a fifth of all labels, or in 60%
        # of all labels (`New` among cities is in fewer).
        common = share >= SHARE_SMALL and small[lemma, place] > len(members) / 2
        if common or share >= SHARE_MOST:
            heads.update(members)
        if common or share >= SHARE_MOST or (place == -1 and len(members) >= ENDED_BY):
            generic.add(lemma)
    return generic, shared, heads


def drop_heads(words: Sequence[Word], heads: Collection[Word], endings: Endings) -> Sequence[Word]:
    """Return words without head nouns at either end, inflected or not; at least one remains."""
    for place, part in ((-1, slice(-1)), (0, slice(1, None))):
        while len(words) > 1 and any(
            endings.compare(words[place], x, True)[0] >= LEAST for x in heads
        ):
            words = words[part]
    return words


def make_name(
    label: str, words: Sequence[Word], generic: Collection[str], endings: Endings
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
    capitals = tuple(min(2, count_capitals(label, word)) for word in words)
    marks = bool(BREAK.search(inside))
    return LabelWords(tuple(words), core, shared, small, capitals, marks, endings)


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


def count_capitals(text: str, word: Word) -> int:
    """Return the number of capitals in a word of a text."""
    return sum(map(str.isupper, text[word.start : word.end]))


def find_spans(text: str, words: Sequence[Word], name: LabelWords) -> list[Span]:
    """Return the runs of words that contain all needed words of the name."""
    grid = [[0.0] * len(name.words) for _ in words]
    sure = set[Pair]()
    for place, word in enumerate(words):
        for part, (label, capitals) in enumerate(zip(name.words, name.capitals, strict=True)):
            score, is_form = name.endings.compare(word, label, not capitals)
            cased = score < LEAST or count_capitals(text, word) >= capitals
            grid[place][part] = score if cased or is_form else score - LOWER
            sure.update([(place, part)] if cased and is_form else [])
    places = {place for place, row in enumerate(grid) if max(row) >= LEAST}
    # A run begins and ends with a word of the name. It may have one other word if all words of the
    # name occur in order. Adjacent generic nouns are part of the run.
    return [
        span
        for first in sorted(places)
        for last in range(first, first + len(name.words) + 1)
        if last in places and (span := rate(grid, sure, first, last, name))
        if name.has_marks or not BREAK.search(text[words[first].end : words[last].start])
    ]


def rate(grid: Grid, sure: set[Pair], first: int, last: int, name: LabelWords) -> Span | None:
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
    score = score / sum(weights.values()) - cost
    return Span(first, last, score, len(matches), all((matches[x], x) in sure for x in weights))


def pair(grid: Grid, first: int, last: int) -> dict[int, int]:
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
    # Objects tend to be late in a sentence: a slightly worse run further on is taken, but hardly
    # one that only resembles the name after a form of it.
    best = max((span.score for span in spans), default=0.0)
    sure = any(span.sure and span.score == best for span in spans)
    margins = {True: MARGIN, False: NEAR if sure else MARGIN}
    candidates = [span for span in spans if span.score >= best - margins[span.sure]]
    return max(candidates, key=lambda span: (span.last, span.matched, span.score), default=None)


def is_beaten(words: Sequence[Word], span: Span, name: LabelWords, rivals: Rivals) -> bool:
    """Tell whether a run of words is more similar to another label of the call."""
    # The sentence was made with its own label, so another label must score ten points more. If the
    # run omits a word of its own label (Oklahoma is not Oklahoma City), an equal score suffices,
    # unless the omitted word is a lower-case generic noun (`engleski jezik`).
    complete = span.matched >= len(name.words) - len(name.generic & name.small)
    if span.score >= 100 and complete:
        return False
    run = words[span.first : span.last + 1]
    for rival, places in rivals.get(len(run), ()):
        if rival.words != name.words:
            weights = [len(rival.words[place].form) for place in places]
            scores = [
                name.endings.compare(word, rival.words[place], not rival.capitals[place])[0]
                for word, place in zip(run, places, strict=True)
            ]
            score = sum(map(mul, scores, weights)) / sum(weights)
            if score >= span.score + (BETTER if complete else 0):
                return True
    return False
