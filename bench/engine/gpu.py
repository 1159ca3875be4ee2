"""Tokens per second of a decoder on an accelerator, and their share of the matrix ceiling.

    python -m bench engine gpu [--size 1b] [--device cuda] [--rows 500]

Random weights of real shapes, bfloat16, rows of BMLAMA-17 in English and Russian. `load_scorer` is
compared with the method of the harness, reimplemented here: whole sentences, longest first, padded
batches of 32 (and of 256, for a large card), log-softmax of all logits. Requires runs/bmlama and
runs/engine/models/unigram.json, which `python -m bench engine --only floor` writes. The figures are
saved in runs/engine/gpu.json (not for a CPU); the next `python -m bench engine` writes the table.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from polyprobe.eval import load_scorer

from .floor import count_merged, count_naive, fill_rows, list_products
from .models import BOS, EOS, PAD, Rows, load_unigram, take_rows
from .race import compare
from .reference import Ids

RESULTS = Path("runs/engine")
DATASET = Path("runs/bmlama")
LANGUAGES = ("en", "ru")
ROUNDS = 3
BATCHES = (32, 256)
OURS = "ours"
# hidden, intermediate, layers, heads, key-value heads, vocabulary
SIZES = {
    "small": (128, 352, 2, 4, 2, 32_000),
    "1b": (2048, 8192, 16, 32, 8, 128_256),
    "7b": (4096, 11008, 32, 32, 32, 32_000),
}

Score = Callable[[list[str], list[list[str]]], list[list[float]]]


class Speed(NamedTuple):
    """The speed of one method on the rows of one language.

    Attributes:
        model: size of the model.
        way: polyprobe's method, or the harness's.
        language: language of the rows.
        seconds: median of the rounds.
        tokens: tokens run: of whole sentences, or after merging, without padding.
        sentence_tokens: tokens of all sentences.
        rate: floating-point operations per second of the products of these tokens.
        ceiling: floating-point operations per second of a large bfloat16 product.
        error: largest difference from the harness's scores at the first batch size.
    """

    model: str
    way: str
    language: str
    seconds: float
    tokens: int
    sentence_tokens: int
    rate: float
    ceiling: float
    error: float


def main(argv: Sequence[str]) -> None:
    """Measure both methods and save the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench engine gpu", description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="1b")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rows", type=int, default=500)
    asked = parser.parse_args(argv)
    ceiling = measure_ceiling(asked.device)
    with tempfile.TemporaryDirectory() as folder:
        write_model(asked.size, asked.device, Path(folder))
        scorer = load_scorer(folder, device=asked.device, dtype="bfloat16")
        found = []
        for language in LANGUAGES:
            rows = take_rows(DATASET, language, asked.rows)
            speeds = describe_speeds(scorer, asked.size, language, rows, ceiling)
            found += [speed._asdict() for speed in speeds]
    kept = json.dumps({"machine": describe(asked.device), "found": found}, indent=1)
    print(kept)
    if asked.device != "cpu":
        (RESULTS / "gpu.json").write_text(kept, encoding="utf-8")


def describe(device: str) -> str:
    """Return what the figures were measured on."""
    name = torch.cuda.get_device_name() if device.startswith("cuda") else device
    return f"{name}, bfloat16, {ROUNDS} rounds, torch {torch.__version__}"


def measure_ceiling(device: str) -> float:
    """Return the operations per second of a square bfloat16 product of random numbers."""
    n = 8192 if device.startswith("cuda") else 1024
    a, b = (torch.randn(n, n, device=device, dtype=torch.bfloat16) for _ in range(2))
    for _ in range(3):
        a @ b
    seconds = [run_timed(device, lambda: a @ b)[0] for _ in range(10)]
    return 2 * n**3 / statistics.median(seconds)


def write_model(size: str, device: str, folder: Path) -> None:
    """Write a random Llama of that size in bfloat16."""
    hidden, intermediate, layers, heads, key_value_heads, vocabulary = SIZES[size]
    config = LlamaConfig(
        hidden_size=hidden, intermediate_size=intermediate, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=key_value_heads, vocab_size=vocabulary,
        max_position_embeddings=4096, pad_token_id=PAD, bos_token_id=BOS, eos_token_id=EOS,
        dtype=torch.bfloat16,
    )  # fmt: skip
    torch.manual_seed(7)
    with torch.device(device):
        LlamaForCausalLM._from_config(config, dtype=torch.bfloat16).save_pretrained(folder)
    load_unigram(RESULTS / "models" / "unigram.json", "<s> $A").save_pretrained(folder)


def measure(scorer: Any, rows: Rows) -> dict[str, tuple[float, Any]]:
    """Return median seconds and scores of each method; the methods take turns."""
    model, tokenizer, device = scorer.model, scorer.tokenizer, scorer.model.device.type
    ways: dict[str, Score] = {
        f"the harness's, batch {n}": partial(score_padded, model, tokenizer, n) for n in BATCHES
    }
    ways[OURS] = scorer.score
    few = Rows(rows.prompts[:8], rows.candidates[:8])
    for way in ways.values():
        way(*few)
    turns = [
        {name: run_timed(device, partial(way, *rows)) for name, way in ways.items()}
        for _ in range(ROUNDS)
    ]
    return {k: (statistics.median(turn[k][0] for turn in turns), turns[0][k][1]) for k in ways}


def describe_speeds(
    scorer: Any, size: str, language: str, rows: Rows, ceiling: float
) -> list[Speed]:
    """Return the speed of each method."""
    filled = fill_rows("causal", scorer.tokenizer, rows)
    naive = count_naive("causal", filled)
    merged = count_merged("causal", rows.prompts, filled, "prompt")
    measured = measure(scorer, rows)
    _, expected = next(iter(measured.values()))
    found = []
    for name, (seconds, scores) in measured.items():
        work = merged if name == OURS else naive
        products = list_products(scorer.model, work)
        rate = sum(2 * p.weight.numel() * p.tokens for p in products) / seconds
        error = compare(scores, expected).error
        counted = work.tokens, naive.tokens
        found.append(Speed(size, name, language, seconds, *counted, rate, ceiling, error))
    return found


@torch.inference_mode()
def score_padded(
    model: Any, tokenizer: Any, batch: int, prompts: list[str], candidates: list[list[str]]
) -> list[list[float]]:
    """Return scores by equation 10 of whole sentences in padded batches, as in the harness."""
    filled = fill_rows("causal", tokenizer, Rows(prompts, candidates))
    sentences = [filling.pieces for row in filled for filling in row]
    order = sorted(range(len(sentences)), key=lambda k: -len(sentences[k]))
    means = [0.0] * len(sentences)
    for start in range(0, len(order), batch):
        chosen = order[start : start + batch]
        for k, mean in zip(chosen, _means(model, [sentences[k] for k in chosen]), strict=True):
            means[k] = mean
    found = iter(means)
    return [[next(found) for _ in row] for row in candidates]


def _means(model: Any, sentences: list[Ids]) -> list[float]:
    width = len(sentences[0])
    ids = torch.tensor([(*s, *[PAD] * (width - len(s))) for s in sentences], device=model.device)
    logits = model(ids, use_cache=False).logits.log_softmax(-1)
    read = logits[:, :-1].gather(2, ids[:, 1:, None])[..., 0].float()
    return [float(row[: len(s) - 1].mean()) for row, s in zip(read, sentences, strict=True)]


def run_timed(device: str, run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds until the device has finished, and the value."""
    wait = torch.cuda.synchronize if device.startswith("cuda") else lambda: None
    wait()
    begin = time.perf_counter()
    value = run()
    wait()
    return time.perf_counter() - begin, value
