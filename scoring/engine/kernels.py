"""Operators in place of torch's own while a batch is run: products, and attention over a trie."""

import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import linear, scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from polyprobe.scoring.options import PRODUCTS

# Nodes of a block of a trie: on a CPU their attention is smaller than the rest of a layer.
BLOCK = 64
# Keys of a block are a multiple of this: kernels of accelerators take no other masks, and shapes
# that repeat are compiled once.
BUCKET = 16
CPU_TABLE = Path("/proc/cpuinfo")  # only Linux has it
# Subclasses of tensors (quantised, distributed) have products of their own.
_WEIGHTS = (Tensor, torch.nn.Parameter)
TORCH = (PRODUCTS[0], False)  # torch's own operators, for `Kernels.replaced_by`


# A node sees its ancestors only. In depth-first order those of a block are in the block itself, or
# are ancestors of its first node.
class Blocks(NamedTuple):
    """A trie in blocks of `BLOCK` neighbouring nodes."""

    n: int  # the number of nodes
    # The nodes of each block, [blocks, BLOCK]; the last node fills up the last block
    nodes: Tensor
    keys: Tensor  # the nodes that a block sees, [blocks, keys], padded with node 0
    padding: Tensor  # which keys are padding, [blocks, 1, keys]


def split_into_blocks(ends: Sequence[int], device: torch.device) -> Blocks:
    """Divide a trie into blocks; `ends` as in `Trie`."""
    n = len(ends)
    seen: list[list[int]] = []
    line: list[int] = []  # the ancestors of a node
    for node in range(n):
        while line and ends[line[-1]] <= node:
            line.pop()
        if node % BLOCK == 0:
            seen.append([*line, *range(node, min(node + BLOCK, n))])
        line.append(node)
    width = -(-max(map(len, seen)) // BUCKET) * BUCKET
    keys = torch.tensor([[*row, *[0] * (width - len(row))] for row in seen], device=device)
    sizes = torch.tensor([len(row) for row in seen], device=device)
    padding = torch.arange(width, device=device) >= sizes[:, None]
    nodes = torch.arange(len(seen) * BLOCK, device=device).clamp(max=n - 1).view(-1, BLOCK)
    return Blocks(n, nodes, keys, padding[:, None])


# The model is not changed, and its weights are not copied. Gradients are not supported.
class Kernels(TorchFunctionMode):
    """A context in which float32 products are oneDNN's and attention runs block by block."""

    product, blockwise = TORCH  # the product, and whether attention over a trie runs in blocks
    blocks: Blocks | None = None  # those of the trie that is run

    @contextmanager
    def replaced_by(self, product: str, blockwise: bool) -> Iterator[None]:
        """Use other operators until the context ends."""
        previous = self.product, self.blockwise
        self.product, self.blockwise = product, blockwise
        try:
            yield
        finally:
            self.product, self.blockwise = previous

    @contextmanager
    def for_trie(self, ends: Sequence[int], device: torch.device) -> Iterator[None]:
        """Divide a trie into blocks until the context ends; `ends` as in `Trie`."""
        if self.blockwise and len(ends) > BLOCK:
            self.blocks = split_into_blocks(ends, device)
        try:
            yield
        finally:
            self.blocks = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.product == "onednn":
            if func is linear:
                return _multiply(*args, **(kwargs or {}))
            if func is torch.addmm and not kwargs:  # GPT-2's layers: bias, inputs, [in, out]
                bias, inputs, weight = args
                return _multiply(inputs, weight.t(), bias)
        if func is scaled_dot_product_attention and self.blocks:
            return _attend(self.blocks, *args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _multiply(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Multiply by oneDNN, without a packed copy of the weight."""
    if type(weight) not in _WEIGHTS or not weight.dtype == input.dtype == torch.float32:
        return linear(input, weight, bias)
    # An operator of torch that is not documented
    product: Tensor = torch.ops.mkldnn._linear_pointwise(input, weight, bias, "none", [], "")
    return product


def _attend(
    blocks: Blocks,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    **options: Any,
) -> Tensor:
    """Compute the attention of one row, [1, heads, n, width], whose mask is that of a trie."""
    # All that a block does not see has the weight 0, so it can be left out
    n = blocks.n
    # Attention of another shape, or without a mask, is not over the trie.
    if attn_mask is None or (len(query), query.shape[2], *attn_mask.shape[-2:]) != (1, n, n, n):
        return scaled_dot_product_attention(query, key, value, attn_mask, **options)
    mask = attn_mask.expand(1, -1, n, n)[0][:, blocks.nodes[:, :, None], blocks.keys[:, None]]
    hidden = False if mask.dtype == torch.bool else torch.finfo(mask.dtype).min
    # Blocks take the place of the batch, so that one call computes all of them.
    mask = mask.masked_fill(blocks.padding, hidden).transpose(0, 1)
    query = _pick(query, blocks.nodes)
    key, value = _pick(key, blocks.keys), _pick(value, blocks.keys)
    output = scaled_dot_product_attention(query, key, value, mask, **options)
    return output.transpose(0, 1).flatten(1, 2)[None, :, :n]


def _pick(states: Tensor, nodes: Tensor) -> Tensor:
    """Gather the states of each block, [1, heads, n, width] → [blocks, heads, nodes, width]."""
    picked = states[0].index_select(1, nodes.flatten())
    return picked.unflatten(1, nodes.shape).transpose(0, 1)


# A benchmark would be wrong under load: processes of one machine that choose differently differ in
# the last bits of their scores.
def faster_product(model: Any) -> str:
    """Return the product that is faster for a model on this machine's kind of processor."""
    return "onednn" if _is_amd() and has_product("onednn", model) else PRODUCTS[0]


def _is_amd() -> bool:
    has_table = CPU_TABLE.exists()
    text = CPU_TABLE.read_text(encoding="utf-8") if has_table else platform.processor()
    return "AuthenticAMD" in text


def has_product(product: str, model: Any) -> bool:
    """Return whether the model's weights can be multiplied in this way here."""
    if product == PRODUCTS[0]:
        return True
    if model.dtype != torch.float32 or model.device.type != "cpu":
        return False
    try:
        unit = torch.ones(1, 1)
        return bool(torch.backends.mkldnn.is_available() and _multiply(unit, unit).item() == 1)
    except (AttributeError, RuntimeError):
        return False
