"""The minimal work: tokens left after merging equal prompts and prefixes, and their products.

The floor in seconds excludes attention, softmax and tokenizer. It consists of the matrix products
with the model's own weights. For each shape of a weight, the products of torch (`linear`, MKL on
x86) and of oneDNN with a packed weight are timed in blocks of several sizes; the quickest counts.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import torch
from torch.nn.functional import linear
from transformers import AutoTokenizer

from .models import NETWORKS, Rows, Setting, take_rows
from .reference import AUTO, FILL, Filling, Ids
from .worker import Method


class Work(NamedTuple):
    """The computation for a list of rows.

    Attributes:
        inputs: input sequences of the model (states of a masked model).
        encoder: tokens in the encoder of an encoder-decoder, else 0.
        tokens: tokens in the decoder, or in the only stack.
        heads: positions with log-probabilities.
    """

    inputs: int
    encoder: int
    tokens: int
    heads: int


# Key of rows that are merged: the row itself, its prompt, or the whole language.
MERGE: dict[str, Callable[[int, str], object]] = {
    "row": lambda number, prompt: number,
    "prompt": lambda number, prompt: prompt,
    "language": lambda number, prompt: "",
}


def fill_rows(family: str, tokenizer: Any, rows: Rows) -> list[list[Filling]]:
    """Return the tokenized candidates of every row, by the definition of the family."""
    return [FILL[family](tokenizer, *row) for row in zip(*rows, strict=True)]


def count_naive(family: str, filled: list[list[Filling]]) -> Work:
    """Return the released approach's work: full logits, one input per candidate or sub-word."""
    count = {"causal": _naive_causal, "masked": _naive_masked, "seq2seq": _naive_seq2seq}[family]
    return _add(count(filling) for row in filled for filling in row)


def count_merged(family: str, prompts: list[str], filled: list[list[Filling]], merge: str) -> Work:
    """Return the minimal work for the same scores if rows are merged by a key of `MERGE`.

    Decoder-only: a token of a sentence is run once for each distinct prefix, the last token never.
    Encoder-only: each distinct input with masks is run once. Encoder-decoder: the encoder is run
    once, the decoder like a decoder-only model.
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


MODELS = ["decoder", "encoder-30k", "encoder-decoder-30k"]
LANGUAGES = ("en", "ru", "zh", "ar")


class Merged(NamedTuple):
    """`Work` of a model in a language: of the released approach, and for each key of `MERGE`."""

    model: str
    family: str
    language: str
    naive: list[int]
    merged: dict[str, list[int]]


def measure(setting: Setting, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return the counts of every model and language."""
    return [count(setting, model, x)._asdict() for model in MODELS for x in LANGUAGES]


def count(setting: Setting, model: str, language: str) -> Merged:
    """Return the work of one model for a language."""
    tokenizer = AutoTokenizer.from_pretrained(setting.models / model)
    rows = take_rows(setting.dataset, language, setting.rows)
    family = NETWORKS[model].family
    filled = fill_rows(family, tokenizer, rows)
    merged = {m: list(count_merged(family, rows.prompts, filled, m)) for m in MERGE}
    return Merged(model, family, language, list(count_naive(family, filled)), merged)


BLOCKS = (64, 128, 256, 512)  # tokens multiplied at once
TRIES = 3

Multiply = Callable[[torch.Tensor], torch.Tensor]


class Way(NamedTuple):
    """How weights of a shape are multiplied: a name in `PRODUCTS`, and tokens at once."""

    product: str
    block: int


class Product(NamedTuple):
    """A weight, [out, in], the number of tokens multiplied by it, and its quickest product."""

    weight: torch.Tensor
    tokens: int
    block: int
    multiply: Multiply


def load(family: str, model: str, dtype: str) -> Method:
    """Return a function that runs the products of rows and returns the number of operations.

    The first call with these rows counts the work, so do not time it.
    """
    tokenizer = AutoTokenizer.from_pretrained(model)
    network = AUTO[family].from_pretrained(model, dtype=getattr(torch, dtype))
    counted: dict[tuple[str, ...], list[Product]] = {}

    @torch.inference_mode()
    def run(prompts: list[str], candidates: list[list[str]]) -> float:
        key = tuple(prompts)
        if key not in counted:
            filled = fill_rows(family, tokenizer, Rows(prompts, candidates))
            work = count_merged(family, prompts, filled, "prompt")
            counted[key] = list_products(network, work)
        for product in counted[key]:
            multiply(product)
        return float(sum(2 * p.weight.numel() * p.tokens for p in counted[key]))

    return run


def list_products(network: Any, work: Work) -> list[Product]:
    """Return the product of every linear layer with its tokens, in the quickest way."""
    layers = ((n, m) for n, m in network.named_modules() if isinstance(m, torch.nn.Linear))
    ways: dict[tuple[torch.Size, int], Way] = {}
    found = []
    for name, layer in layers:
        tokens = count_tokens(name, work)
        key = layer.weight.shape, min(tokens, BLOCKS[-1])
        if key not in ways:
            ways[key] = choose_way(layer.weight, key[1])
        product, block = ways[key]
        found.append(Product(layer.weight, tokens, block, PRODUCTS[product](layer.weight, block)))
    return found


def choose_way(weight: torch.Tensor, tokens: int) -> Way:
    """Return the way with the least processor time, of three tries."""
    products = ["linear", *(["oneDNN"] if has_onednn(weight) else [])]
    seconds = {}
    for way in (Way(product, block) for product in products for block in BLOCKS):
        product = Product(weight, tokens, way.block, PRODUCTS[way.product](weight, way.block))
        multiply(product)
        seconds[way] = min(_time(product) for _ in range(TRIES))
    return min(seconds, key=lambda way: seconds[way])


def has_onednn(weight: torch.Tensor) -> bool:
    """Return whether torch has oneDNN's product with packed weights, for this type of weight.

    The operators are private, so another version of torch may lack them.
    """
    has = all(hasattr(torch.ops.mkldnn, x) for x in ("_reorder_linear_weight", "_linear_pointwise"))
    return has and torch.backends.mkldnn.is_available() and weight.dtype == torch.float32


def use_linear(weight: torch.Tensor, block: int) -> Multiply:
    """Return the multiplication by a weight with torch's `linear`."""
    return lambda x: linear(x, weight)


def use_onednn(weight: torch.Tensor, block: int) -> Multiply:
    """Return the multiplication by a weight that oneDNN has packed for blocks of this size."""
    packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), block)
    return lambda x: torch.ops.mkldnn._linear_pointwise(x, packed, None, "none", [], "")


PRODUCTS: dict[str, Callable[[torch.Tensor, int], Multiply]] = {
    "linear": use_linear,
    "oneDNN": use_onednn,
}


def _time(product: Product) -> float:
    start = time.process_time()
    multiply(product)
    return time.process_time() - start


def count_tokens(name: str, work: Work) -> int:
    """Return the number of input tokens of a layer, by its name in the model.

    The keys and values of cross-attention are computed from the encoder's tokens.
    """
    if "lm_head" in name or name.startswith("cls."):
        return work.heads
    cross = name.endswith(("EncDecAttention.k", "EncDecAttention.v"))
    return work.encoder if cross or _in_encoder(name, work) else work.tokens


def _in_encoder(name: str, work: Work) -> bool:
    return bool(work.encoder) and name.startswith("encoder.")


def multiply(product: Product) -> None:
    """Run one product, block by block."""
    weight = product.weight
    block = torch.ones(min(product.block, product.tokens), weight.shape[1]).to(weight)
    for start in range(0, product.tokens, product.block):
        product.multiply(block[: product.tokens - start])
