"""Operators in place of torch's own while a batch is run: products, and attention over a trie."""

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import linear, scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from polyprobe.scoring.options import HALF, PRODUCTS
from polyprobe.system.devices import device_of

# Nodes of a block of a trie: on a CPU their attention is smaller than the rest of a layer.
BLOCK = 64
# Keys of a block are a multiple of this: kernels of accelerators take no other masks, and shapes
# that repeat are compiled once.
BUCKET = 16
# A key that is gathered for a block takes as long as this many that are seen where they are.
COPY = 2
PARTS = 8  # of the nodes, where nothing is gathered
CPU_TABLE = Path("/proc/cpuinfo")  # only Linux has it
# Subclasses of tensors (quantised, distributed) have products of their own.
_WEIGHTS = (Tensor, torch.nn.Parameter)
TORCH = (PRODUCTS[0], False)  # torch's own operators, for `Kernels.replaced_by`


# A node sees its ancestors only. In depth-first order those of a block are in the block itself, or
# are ancestors of its first node.
class Blocks:
    """The nodes of a trie that are run, in blocks of `BLOCK` neighbouring nodes.

    Attributes:
        n: number of nodes.
        n_cached: number of keys in front of theirs.
        nodes: the nodes of each block, [blocks, BLOCK]; the last node fills up the last block.
        keys: the keys that a block sees, [blocks, keys], padded with the first one.
        padding: which keys are padding, [blocks, 1, keys].
    """

    def __init__(self, numbers: np.ndarray, ends: np.ndarray, n: int, device: torch.device) -> None:
        # `numbers` and `ends` of all keys as in `Trie`; the last n are the nodes themselves.
        self.n, self.n_cached = n, len(numbers) - n
        seen = [
            np.concatenate(
                [
                    np.flatnonzero(ends[:start] > numbers[start]),
                    np.arange(start, min(start + BLOCK, len(numbers))),
                ]
            )
            for start in range(self.n_cached, len(numbers), BLOCK)
        ]
        sizes = np.array([*map(len, seen)])
        places = np.arange(-(-sizes.max() // BUCKET) * BUCKET)
        keys: np.ndarray = np.zeros((len(seen), len(places)), int)
        keys[places < sizes[:, None]] = np.concatenate(seen)
        self.keys = torch.tensor(keys, device=device)
        self.padding = torch.tensor(places >= sizes[:, None], device=device)[:, None]
        nodes = torch.arange(len(seen) * BLOCK, device=device).clamp(max=n - 1)
        self.nodes = nodes.view(-1, BLOCK)
        self._masks: dict[int, tuple[Tensor, Tensor]] = {}  # with what is picked of each

    def pick_mask(self, mask: Tensor) -> Tensor:
        """Return what each block sees of a mask, [1, heads, n, all keys].

        The shape is [blocks, heads, BLOCK, keys].
        """
        if id(mask) not in self._masks:  # layers share masks
            picked = mask.expand(1, -1, *mask.shape[2:])[0]
            picked = picked[:, self.nodes[:, :, None], self.keys[:, None]]
            hidden = False if mask.dtype == torch.bool else torch.finfo(mask.dtype).min
            # Blocks take the place of the batch, so that one call computes all of them.
            picked = picked.masked_fill(self.padding, hidden).transpose(0, 1)
            self._masks[id(mask)] = mask, picked
        return self._masks[id(mask)][1]


# The model is not changed, and its weights are not copied. Gradients are not supported.
class Kernels(TorchFunctionMode):
    """A context with other products of float32, in which attention runs block by block."""

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
    def for_trie(
        self, numbers: np.ndarray, ends: np.ndarray, n: int, device: torch.device
    ) -> Iterator[None]:
        """Divide nodes of a trie into blocks until the context ends; arguments as of `Blocks`."""
        if self.blockwise and n > BLOCK:
            self.blocks = Blocks(numbers, ends, n, device)
        try:
            yield
        finally:
            self.blocks = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.product != TORCH[0]:
            multiply = _multiply_half if self.product == HALF else _multiply
            if func is linear:
                return multiply(*args, **(kwargs or {}))
            if func is torch.addmm and not kwargs:  # GPT-2's layers: bias, inputs, [in, out]
                bias, inputs, weight = args
                return multiply(inputs, weight.t(), bias)
        if func is scaled_dot_product_attention and self.blocks:
            return _attend(self.blocks, *args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _multiply(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Multiply by oneDNN, without a packed copy of the weight."""
    if not _is_plain(input, weight):
        return linear(input, weight, bias)
    # An operator of torch that is not documented
    product: Tensor = torch.ops.mkldnn._linear_pointwise(input, weight, bias, "none", [], "")
    return product


# torch's own setting (`torch.backends.mkldnn.matmul.fp32_precision`) needs AMX: elsewhere oneDNN
# stays in float32 without a word.
def _multiply_half(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Multiply in bfloat16; the weight is rounded in each call."""
    if not _is_plain(input, weight):
        return linear(input, weight, bias)
    product = linear(input.bfloat16(), weight.bfloat16()).float()
    return product if bias is None else product + bias


def _is_plain(input: Tensor, weight: Tensor) -> bool:
    return type(weight) in _WEIGHTS and weight.dtype == input.dtype == torch.float32


def _attend(
    blocks: Blocks,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    **options: Any,
) -> Tensor:
    """Compute the attention of nodes of a trie, [1, heads, n, width], to all keys."""
    # All that a block does not see has the weight 0, so it can be left out
    n, n_keys = blocks.n, blocks.n_cached + blocks.n
    # Attention of another shape, or without a mask, is not over the trie.
    shape = (1, n, n, n_keys)
    if attn_mask is None or (len(query), query.shape[2], *attn_mask.shape[-2:]) != shape:
        return scaled_dot_product_attention(query, key, value, attn_mask, **options)
    if COPY * blocks.keys.shape[1] > blocks.n_cached + n // 2:
        # Views up to the end of each part, which need no copies
        parts = [slice(k, k + -(-n // PARTS)) for k in range(0, n, -(-n // PARTS))]
        ends = [blocks.n_cached + part.stop for part in parts]
        outputs = [
            scaled_dot_product_attention(
                query[:, :, part],
                key[:, :, :end],
                value[:, :, :end],
                attn_mask[:, :, part, :end],
                **options,
            )
            for part, end in zip(parts, ends, strict=True)
        ]
        return torch.cat(outputs, 2)
    mask = blocks.pick_mask(attn_mask)
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
    if model.dtype != torch.float32 or (product != HALF and device_of(model).type != "cpu"):
        return False
    if product == HALF:
        return True
    try:
        unit = torch.ones(1, 1)
        return bool(torch.backends.mkldnn.is_available() and _multiply(unit, unit).item() == 1)
    except (AttributeError, RuntimeError):
        return False
