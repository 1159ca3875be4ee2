"""Nouns that the labels of a call share, which a sentence may omit (`язык`, `bahasa`)."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from .lemmatizers import Word
from .similarity import compare_words
from .spans import LEAST

SHARED_BY, ENDED_BY = 3, 4  # labels
SHARE_SMALL, SHARE_MOST = 0.2, 0.6  # of the labels of several words


class Shared(NamedTuple):
    """Nouns that many labels share.

    Attributes:
        generic: lemmas that a sentence may omit.
        edges: lemmas at the same end of three labels or more.
        heads: words of head nouns, for `drop_heads`.
    """

    generic: frozenset[str]
    edges: frozenset[str]
    heads: frozenset[Word]


def find_shared(labels: Mapping[str, Sequence[Word]]) -> Shared:
    """Return the nouns that labels share: `язык`, `idioma`, `bahasa`, `Records`.

    Only labels of several words count. A shared noun is at the same end of three labels or more and
    at most a third as often at the other end. It is a head noun if it is lower-case in most of
    these labels and in a fifth of all labels, or in 60 % of all labels (`New` among cities is in
    fewer). Sentences may also omit the last noun of four labels (`Records`).
    """
    several = {label: words for label, words in labels.items() if len(words) > 1}
    edges: dict[tuple[str, int], list[Word]] = defaultdict(list)
    small: Counter[tuple[str, int]] = Counter()
    for label, words in several.items():
        for place in (0, -1):
            edge = (words[place].lemma, place)
            edges[edge].append(words[place]._replace(start=0, end=0))
            small[edge] += label[words[place].start].islower()
    generic, shared, heads = set(), set(), set()
    for (lemma, place), found in edges.items():
        if len(found) < max(SHARED_BY, SHARED_BY * len(edges.get((lemma, -1 - place), []))):
            continue
        shared.add(lemma)
        share = len(found) / len(several)
        common = share >= SHARE_SMALL and small[lemma, place] > len(found) / 2
        if common or share >= SHARE_MOST:
            heads.update(found)
        if common or share >= SHARE_MOST or (place == -1 and len(found) >= ENDED_BY):
            generic.add(lemma)
    return Shared(frozenset(generic), frozenset(shared), frozenset(heads))


def drop_heads(words: Sequence[Word], heads: Collection[Word]) -> Sequence[Word]:
    """Return words without head nouns at either end, inflected or not; at least one remains."""
    while len(words) > 1 and any(compare_words(words[-1], head) >= LEAST for head in heads):
        words = words[:-1]
    while len(words) > 1 and any(compare_words(words[0], head) >= LEAST for head in heads):
        words = words[1:]
    return words
