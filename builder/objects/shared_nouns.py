"""Nouns that the labels of a call share: a sentence may leave them out (`язык`, `bahasa`)."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from .lemmatizers import Word
from .similarity import compare_words
from .spans import LEAST

SHARED_BY, ENDED_BY = 3, 4  # labels
SHARE_SMALL, SHARE_MOST = 0.2, 0.6  # of the labels of several words


class Shared(NamedTuple):
    """Nouns that many labels share: lemmas a sentence may leave out, and the words to drop.

    `edges` are the lemmas that stand at the same end of three labels or more.
    """

    generic: frozenset[str]
    edges: frozenset[str]
    heads: frozenset[Word]


def find_shared(labels: Mapping[str, Sequence[Word]]) -> Shared:
    """Return the nouns that labels share: `язык`, `idioma`, `bahasa`, `Records`.

    Such a noun stands at the same end of three labels of several words or more, and hardly ever at
    the other. It is a head noun where it is written small in most of them and in a fifth of all
    such labels, or is in six of ten (but `New` among cities is in fewer). Sentences may leave it
    out as well where four labels end in it (`Records` among all relations' labels).
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
    """Return words without head nouns at their ends, in whatever form; one at least stays."""
    while len(words) > 1 and any(compare_words(words[-1], head) >= LEAST for head in heads):
        words = words[:-1]
    while len(words) > 1 and any(compare_words(words[0], head) >= LEAST for head in heads):
        words = words[1:]
    return words
