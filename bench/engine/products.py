"""The floor in seconds: the matrix products of the merged tokens with the model's own weights.

No attention, no softmax, no tokenizer; blocks of 512 tokens before the body's weights, and as many
positions before the head's as fill 64 MB with logits. What is above this is the price of everything
that is no matrix product.
"""

from typing import Any, NamedTuple

import torch
from floor import Work, count_merged, fill_rows
from reference import AUTO
from rows import Rows
from torch.nn.functional import linear
from transformers import AutoTokenizer
from worker import Method

BLOCK = 512
LOGITS = 2**24


class Product(NamedTuple):
    """A weight, [out, in], and how many tokens are multiplied with it, at most `block` at once."""

    weight: torch.Tensor
    tokens: int
    block: int


def load(family: str, model: str, dtype: str) -> Method:
    """Return a function that runs the products of some rows and returns their operations.

    What has to be run is counted at the first call with these rows, which is no call to be timed.
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
    """Return the products of every linear layer with the tokens that it must see."""
    layers = ((n, m) for n, m in network.named_modules() if isinstance(m, torch.nn.Linear))
    found = []
    for name, layer in layers:
        tokens = count_tokens(name, work)
        block = BLOCK if tokens != work.heads else max(1, LOGITS // layer.out_features)
        found.append(Product(layer.weight, tokens, min(BLOCK, block)))
    return found


def count_tokens(name: str, work: Work) -> int:
    """Return how many tokens a layer sees, by its name in the model.

    The keys and values of cross-attention are made of the encoder's tokens.
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
        linear(block[: product.tokens - start], weight)
