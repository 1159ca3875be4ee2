"""Find the object in a translated sentence, inflected or not.

Fluent-mLAMA (arXiv:2510.15115, 3.2) searches for the lemmas of the object's label in the sentence
with Stanza. Here each run of words is scored against the label by form and lemma (`similarity`).
The object is the rightmost run with about the best score. A run that is more similar to another
label of the call is excluded. Comparison with the paper's extraction: bench/objects.md.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rapidfuzz.fuzz import partial_ratio_alignment

from polyprobe.metrics.shared.similarity import compare_words
from polyprobe.metrics.shared.words import UNINFLECTED, UNSEGMENTED, Word
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.options import check_arguments

from .lemmatizers import load_lemmatizer
from .spans import LEAST, Span, choose_span, find_spans, is_beaten, list_rivals, make_name, spare

MARKS = "!?.…+#"  # at the end of a name (Yahoo!, Apple Inc., C++)
ENDING = re.compile(r"[-'’][^\W\d_]{1,3}(?![\w'’-])")  # CBS-u, unless it is a separate word
PARENTHESIS = re.compile(r"\s*[(（\[][^)）\]]*[)）\]]")
SHORT = 3  # letters; shorter aliases can be codes (en, es, ru)
SHARED_BY, ENDED_BY = 3, 4  # labels
SHARE_SMALL, SHARE_MOST = 0.2, 0.6  # of the labels of several words


class ObjectSpan(NamedTuple):
    """An object in a sentence: characters `[start, end)`, form, and score."""

    start: int
    end: int
    form: str
    # 0 to 100; 100 means that the form, or all lemmas, equal the label's.
    score: float


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
    reader = Reader(list_words, sentences, names, language not in UNINFLECTED, threshold)
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
        inflected: bool,
        threshold: float,
    ) -> None:
        self._threshold = threshold
        labels = list(dict.fromkeys(group[0] for group in names))
        bare = {name: PARENTHESIS.sub("", name) or name for group in names for name in group}
        texts = list(dict.fromkeys([*sentences, *bare.values()]))
        self._words = dict(zip(texts, list_words(texts), strict=True))
        of_labels = {bare[label]: self._words[bare[label]] for label in labels}
        generic, self._edges, self._heads = find_shared_nouns(of_labels)
        self._names = {
            name: make_name(text, self._words[text], generic, inflected)
            for name, text in bare.items()
            if self._words[text]
        }
        self._rivals = list_rivals(self._names[label] for label in labels if label in self._names)

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
            run = drop_heads(run, self._heads)
        elif name and len(name.words) - 1 in name.generic:
            # The generic noun at the end of the label is part of the form.
            run = [*run, *(word for word in rest[:1] if word.lemma == name.words[-1].lemma)]
        start, end = run[0].start, run[-1].end
        # A lower-case ending after a hyphen belongs to the form (CBS-u).
        ending = ENDING.match(sentence, end)
        end = ending.end() if ending and ending[0].islower() else end
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


def drop_heads(words: Sequence[Word], heads: Collection[Word]) -> Sequence[Word]:
    """Return words without head nouns at either end, inflected or not; at least one remains."""
    for place, part in ((-1, slice(-1)), (0, slice(1, None))):
        while len(words) > 1 and any(compare_words(words[place], x) >= LEAST for x in heads):
            words = words[part]
    return words
