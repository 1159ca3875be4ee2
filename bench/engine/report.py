"""Write bench/engine/README.md from the figures that the parts have kept."""

import json
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from plot import draw_growth
from race_tables import NAMES, list_short, make_table, tabulate_times
from timing import ENTRIES, Setting

Found = list[dict[str, Any]]


def describe_machine(setting: Setting) -> str:
    """Return what the figures were measured on and with."""
    cpu = [x for x in Path("/proc/cpuinfo").read_text().splitlines() if x.startswith("model name")]
    return (
        f"{cpu[0].partition(': ')[2]}, {setting.threads} threads, {setting.rounds} rounds, "
        f"Python {platform.python_version()}, torch {torch.__version__}, "
        f"transformers {transformers.__version__}"
    )


def write(results: Path, page: Path) -> None:
    """Write the page, and growth.svg beside it; parts that were not measured say so."""
    sections = [INTRODUCTION, _short(results), *(_timed(results, part) for part in ENTRIES)]
    others = {
        "floor": ("What merging leaves of all of BMLAMA-17", tabulate_merging),
        "equality": ("Equal scores", tabulate_equality),
        "memory": ("Memory", tabulate_memory),
        "growth": ("Growth", tabulate_growth),
        "gpu": ("On a GPU", tabulate_gpu),
    }
    for part, (title, tabulate) in others.items():
        sections += [f"## {title}", _part(results, part, tabulate)]
    page.write_text("\n\n".join(x.strip() for x in sections) + "\n", encoding="utf-8")
    if found := _read(results, "growth"):
        picture = draw_growth(found["found"])
        page.with_name("growth.svg").write_text(picture, encoding="utf-8")


INTRODUCTION = """
# The engine: how many times as fast, and how near to the floor

`python bench/engine --peers PYTHON`: `load_scorer(model).score` against three ways of getting the
same scores, on real rows of BMLAMA-17 spread over its relations. Every method has a process of its
own and is asked in turn, in random order, round after round; ratios are taken within a round, and
the table gives their median (least–greatest). All scores are compared first: the bench stops where
any differ by more than 1e-4.

- **reference**: the released approach, one forward pass a candidate (of an encoder: a sub-word of
  it), batch 1, inference mode, all logits; on token ids.
- **lm-eval**: lm-evaluation-harness 0.4.13, HFLM, batch 32. Decoder: all tokens of the sentence but
  the first. Encoder-decoder: `<extra_id_0> c` less `<extra_id_0>`.
- **lm-pub-quiz** 0.3.3, batch 32, is asked for the nearest that it has: for an encoder
  `answer_l2r+word_l2r` on the candidate's sub-words inside its sentence, for a decoder the sentence
  behind a BOS. Its scores are held against a plain way to the same quantity.
- **floor**: nothing but the matrix products, with the model's own weights, of the tokens that are
  left when identical prompts and prefixes are merged, log-probabilities only where they are asked.
  Its rate is the peak that the machine gives to products of these shapes.

Models: SmolLM2-135M-Instruct from GGUF as float32 safetensors; a random XLM-R of 6 layers, hidden
size 384; a random mT5-small. The last two have unigram tokenizers of 30,000 pieces, trained on
BMLAMA's sentences, too few for 250,000: the larger models have ids that no text gives, so
sentences are longer in tokens than XLM-R's and mT5's own. RankC of all pairs is timed in
[../rankc.md](../rankc.md).
"""


def _read(results: Path, part: str) -> dict[str, Any] | None:
    file = results / f"{part}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def _short(results: Path) -> str:
    kept = (_read(results, part) for part in ENTRIES)
    lines = [line for part in kept if part for line in list_short(part["found"])]
    return "\n".join(["## Short of what is asked", "", *(lines or ["Nothing that was measured."])])


def _part(results: Path, part: str, tabulate: Callable[[Found], str]) -> str:
    kept = _read(results, part)
    return f"{kept['machine']}.\n\n{tabulate(kept['found'])}" if kept else "Not measured."


def _timed(results: Path, part: str) -> str:
    return f"## {part.capitalize()}\n\n{_part(results, part, tabulate_times)}"


def tabulate_merging(found: Found) -> str:
    """Return tokens of the released approach, and their ratio to what each way of merging leaves.

    Encoder-decoders: encoder and decoder tokens together.
    """
    lines = []
    for row in found:
        naive = sum(row["naive"][1:3])
        ratios = [f"{naive / sum(work[1:3]):.2f}" for work in row["merged"].values()]
        lines.append(
            f"| {NAMES[row['model']]} | {row['language']} | {row['naive'][0]:,} | {naive:,} "
            f"| {' | '.join(ratios)} | {row['merged']['prompt'][0]:,} |"
        )
    head = (
        "| model | language | inputs, released | tokens | each row alone | equal prompts merged "
        "| whole language | inputs left |"
    )
    text = (
        "Tokens (encoder and decoder together) of the released approach, and by how many times "
        "fewer are left when prefixes and equal inputs are shared in a row, between rows with the "
        "same prompt, in the whole language. Inputs left: distinct sentences, masked states, "
        "sources of the encoder."
    )
    return text + "\n\n" + make_table(head, 2, lines)


def tabulate_equality(found: Found) -> str:
    """Return errors in float32, a line a model, and what bfloat16 changes, a line a language."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in found:
        against = "reference, float32" if row["against"] == "reference" else row["against"]
        language = "" if row["against"] == "reference" else row["language"]
        groups.setdefault((row["model"], against, language), []).append(row)
    lines = [
        f"| {NAMES[model]} | {against} | {' '.join(r['language'] for r in rows)} "
        f"| {_difference_cells([r['difference'] for r in rows])} |"
        for (model, against, _), rows in groups.items()
    ]
    head = (
        "| model | against | rows | queries | largest error | rankings that differ "
        "| first places that differ |"
    )
    text = (
        "Ours against the reference in float32, in further languages (en and ru: above), and ours "
        "in bfloat16 against ours in float32. A ranking differs where any two candidates have "
        "changed places."
    )
    return text + "\n\n" + make_table(head, 3, lines)


def _difference_cells(differences: list[dict[str, float]]) -> str:
    queries, rankings, firsts = (
        sum(d[key] for d in differences) for key in ("queries", "rankings", "firsts")
    )
    return (
        f"{queries} | {max(d['error'] for d in differences):.1e} "
        f"| {rankings} ({rankings / queries:.1%}) | {firsts} ({firsts / queries:.1%})"
    )


def tabulate_memory(found: Found) -> str:
    """Return peaks beside 1.5 times the weights and 1 GB."""
    lines = []
    for row in found:
        limit = 1.5 * row["weights"] + 1e9
        asked = f"{limit / 1e9:.2f}" if row["weights"] else ""
        weights = f"{row['weights'] / 1e9:.3f}" if row["weights"] else ""
        lines.append(
            f"| {row['what']} | {weights} | {asked} | {row['peak'] / 1e9:.2f} "
            f"| {row['seconds']:.0f} |"
        )
    head = "| SmolLM2-135M | weights in float32, GB | asked, GB | peak, GB | seconds |"
    text = "Peak resident memory of a fresh process (GB = 10^9 bytes)."
    return text + "\n\n" + make_table(head, 1, lines)


def tabulate_growth(found: Found) -> str:
    """Return the curves with their exponents."""
    lines = []
    for curve in found:
        points = zip(curve["sizes"], curve["seconds"], strict=True)
        shown = ", ".join(f"{size}: {seconds:.2f}" for size, seconds in points)
        model = curve["model"].removeprefix("growth-")
        lines.append(f"| {curve['what']} | {model} | {shown} | {curve['exponent']:.2f} |")
    head = "| what grows | model | seconds | exponent |"
    text = (
        "Small models (2 layers, 30k). Candidates: 50 queries, candidates drawn from the "
        "language's own. Queries: as published. Languages: a whole `evaluate_model` of 100 facts "
        "with all figures, score store empty. The exponent is the slope of the logarithms: 1 is "
        "linear.\n\n![time against candidates, queries and languages](growth.svg)"
    )
    return text + "\n\n" + make_table(head, 3, sorted(lines))


def tabulate_gpu(found: Found) -> str:
    """Return what gpu.py measured."""
    lines = [
        f"| {row['model']} | {row['language']} | {row['way']} | {row['seconds']:.2f} "
        f"| {row['tokens']:,} | {row['tokens'] / row['seconds']:,.0f} "
        f"| {row['sentence_tokens'] / row['seconds']:,.0f} | {row['rate'] / 1e12:.2f} "
        f"| {row['rate'] / row['ceiling']:.1%} | {row['error']:.1e} |"
        for row in found
    ]
    head = (
        "| model | rows | way | seconds | tokens run | a second | sentence tokens served a second "
        "| TFLOP/s | of the ceiling | difference |"
    )
    text = (
        "Random weights, bfloat16. Tokens run: whole sentences, or what merging leaves. The "
        f"ceiling is a large bfloat16 product: {found[0]['ceiling'] / 1e12:.2f} TFLOP/s. "
        "Difference: the largest from the first way's scores."
    )
    return text + "\n\n" + make_table(head, 3, lines)
