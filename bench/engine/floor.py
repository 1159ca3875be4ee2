"""How much has to be run at all: naive, and after identical prompts and prefixes are merged."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from inputs import FILL, Filling, Ids
from rows import Rows


class Work(NamedTuple):
    """What is run for a list of rows.

    Attributes:
        inputs: sequences that a model is called with (states of a masked model).
        encoder: tokens in the encoder of an encoder-decoder, else 0.
        tokens: tokens in the decoder, or in the only stack.
        heads: positions at which log-probabilities are made.
    """

    inputs: int
    encoder: int
    tokens: int
    heads: int


# What rows must share to be merged: nothing (each row alone), or the prompt.
MERGE: dict[str, Callable[[int, str], object]] = {
    "row": lambda number, prompt: number,
    "prompt": lambda number, prompt: prompt,
    "language": lambda number, prompt: "",
}


def fill_rows(family: str, tokenizer: Any, rows: Rows) -> list[list[Filling]]:
    """Return the candidates of every row as the family's definition has them."""
    return [FILL[family](tokenizer, *row) for row in zip(*rows, strict=True)]


def count_naive(family: str, filled: list[list[Filling]]) -> Work:
    """Return what the released approach runs: full logits, one input a candidate or sub-word."""
    count = {"causal": _naive_causal, "masked": _naive_masked, "seq2seq": _naive_seq2seq}[family]
    return _add(count(filling) for row in filled for filling in row)


def count_merged(family: str, prompts: list[str], filled: list[list[Filling]], merge: str) -> Work:
    """Return the least that gives the same scores when rows are merged so (`MERGE`).

    Decoder-only: a token of a sentence is run once for each distinct prefix, the last one never.
    Encoder-only: once for each distinct input with its masks. Encoder-decoder: the encoder once,
    the decoder as a decoder-only model.
    """
    count = {"causal": _merged_causal, "masked": _merged_masked, "seq2seq": _merged_seq2seq}[family]
    groups: dict[object, list[Filling]] = {}
    for number, (prompt, row) in enumerate(zip(prompts, filled, strict=True)):
        groups.setdefault(MERGE[merge](number, prompt), []).extend(row)
    return _add(count(fillings) for fillings in groups.values())


def count_prefixes(sequences: Iterable[Ids]) -> int:
    """Return the number of distinct non-empty prefixes: the nodes of a trie.

    >>> count_prefixes([(1, 2, 3), (1, 2, 4), (5,)])
    5
    """
    children: dict[tuple[int, int], int] = {}
    for sequence in sequences:
        node = 0
        for token in sequence:
            node = children.setdefault((node, token), len(children) + 1)
    return len(children)


def _add(works: Iterable[Work]) -> Work:
    return Work(*(sum(column) for column in zip(*works, strict=True)))


def _naive_causal(filling: Filling) -> Work:
    length = len(filling.pieces)
    return Work(1, 0, length, length)


def _naive_masked(filling: Filling) -> Work:
    n = len(filling.pieces)
    tokens = n * (len(filling.before) + n + len(filling.after))
    return Work(n, 0, tokens, tokens)


def _naive_seq2seq(filling: Filling) -> Work:
    decoder = len(filling.pieces) + 1
    return Work(1, len(filling.before), decoder, decoder)


def _merged_causal(fillings: list[Filling]) -> Work:
    sentences = {filling.pieces for filling in fillings}
    nodes = count_prefixes(sentence[:-1] for sentence in sentences)
    return Work(len(sentences), 0, nodes, nodes)


def _merged_masked(fillings: list[Filling]) -> Work:
    states = {state for filling in fillings for state in _states(filling)}
    tokens = sum(len(before) + n + len(after) for before, _, n, after in states)
    return Work(len(states), 0, tokens, len(states))


def _states(filling: Filling) -> Iterator[tuple[Ids, Ids, int, Ids]]:
    n = len(filling.pieces)
    for i in range(n):
        yield filling.before, filling.pieces[:i], n, filling.after


def _merged_seq2seq(fillings: list[Filling]) -> Work:
    sources: dict[Ids, list[Ids]] = {}
    for filling in fillings:
        sources.setdefault(filling.before, []).append(filling.pieces[:-1])
    nodes = {source: count_prefixes(inner) for source, inner in sources.items()}
    return _add(Work(1, len(source), n + 2, n + 1) for source, n in nodes.items())
