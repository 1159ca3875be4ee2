"""RankC by enumeration; pools and queries to measure."""

import math
from itertools import chain, groupby, permutations, product
from statistics import fmean

from hypothesis import strategies as st

UNNORMALISED = {
    "softmax": lambda n, j: math.exp(n - j),
    "norm1": lambda n, j: n - j,
    "norm2": lambda n, j: (n - j) ** 2,
    "norm1-released": lambda n, j: n - j + 1,
    "norm2-released": lambda n, j: (n - j + 1) ** 2,
}


def define_weights(n, weights):
    if n == 1:
        return [1.0]
    raw = [UNNORMALISED[weights](n, j) for j in range(1, n + 1)]
    return [value / sum(raw) for value in raw]


def compare_orders(one, other, weights):
    """Return sum_j w_j |top_j & top_j| / j of two orders by the loop of the definition."""
    terms = enumerate(define_weights(len(one), weights), start=1)
    return sum(w * len(set(one[:j]) & set(other[:j])) / j for j, w in terms)


def list_orders(scores):
    """Return every order of the candidates, best first, that these scores allow."""
    ranked = sorted(range(len(scores)), key=lambda i: -scores[i])
    groups = [list(group) for _, group in groupby(ranked, key=lambda i: scores[i])]
    return [list(chain.from_iterable(order)) for order in product(*map(permutations, groups))]


def enumerate_rankc(one, other, weights):
    pairs = product(list_orders(one), list_orders(other))
    return fmean(compare_orders(a, b, weights) for a, b in pairs)


@st.composite
def draw_pools(draw, largest, languages=2, levels=5):
    """Draw the scores of one to four queries in several languages; few levels, so many ties."""
    level = st.sampled_from([-math.inf, -1.5, 0.0, 2.0, math.inf][:levels])
    sizes = draw(st.lists(st.integers(1, largest), min_size=1, max_size=4))
    return [
        [draw(st.lists(level, min_size=n, max_size=n)) for n in sizes] for _ in range(languages)
    ]


@st.composite
def draw_queries(draw, largest):
    """Draw scores with many ties, and correct answers, for one to four queries."""
    level = st.sampled_from([-math.inf, 0.0, 2.5, math.inf])
    sizes = draw(st.lists(st.integers(1, largest), min_size=1, max_size=4))
    scores = [draw(st.lists(level, min_size=n, max_size=n)) for n in sizes]
    right = [draw(st.lists(st.integers(0, n - 1), min_size=1, unique=True)) for n in sizes]
    return scores, right
