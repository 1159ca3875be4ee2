"""Write bench/engine/README.md from the saved figures of the parts."""

import json
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from bench.machine import find_cpu

from .growth import draw_growth
from .models import Setting
from .race import ENTRIES, OWN_QUANTITY, find_ratio

# Target ratios of processor time to polyprobe's, by model and method, in en and ru.
ASKED: dict[str, dict[str, tuple[float, float]]] = {
    "decoder": {"reference": (17, 6), "smart": (4, 2.5), "lm-eval": (4, 3.3), "vLLM": (3.5, 2.3)},
    "encoder-30k": {"reference": (13, 9), "lm-pub-quiz": (4, 4)},
    "encoder-250k": {"reference": (30, 21), "lm-pub-quiz": (12, 12)},
    "encoder-decoder-30k": {"reference": (11, 9.5), "lm-eval": (3.4, 3.4)},
    "encoder-decoder-250k": {"reference": (11, 9.5), "lm-eval": (3.4, 3.4)},
}
# The most tokens that are run, times the minimum, and the target ratios to smart behind a context.
MOST = 1.05
SMART = {"none": (4, 2.5), "system message, 1000": (8, 8)}
NAMES = {
    "decoder": "decoder, SmolLM2-135M",
    "encoder-30k": "encoder, 30k",
    "encoder-250k": "encoder, 250k",
    "encoder-decoder-30k": "encoder-decoder, 30k",
    "encoder-decoder-250k": "encoder-decoder, 250k",
}
# What several sentences have in common and a method runs once.
SHARES = {
    "reference": "nothing",
    "smart": "a row's beginning",
    "lm-eval": "nothing",
    "lm-pub-quiz": "nothing",
    "vLLM": "blocks of 32 tokens",
    "llama.cpp": "a row's beginnings",
}
Found = list[dict[str, Any]]


def tabulate_times(found: Found) -> str:
    """Return speed-ups with targets, times with the floor, and time by kind of operator."""
    tables = [_ratios, _seconds, *([_tokens] if "vLLM" in found[0]["wall"] else []), _kinds]
    return "\n\n".join(tabulate(found) for tabulate in tables)


def _ratios(found: Found) -> str:
    lines = [
        f"| {NAMES[t['model']]} | {t['language']} | {_ratio_cells(t, method)} |"
        for t in found
        for method in t["wall"]
        if method not in ("ours", "floor")
    ]
    head = (
        "| model | rows | against | it runs once | target | wall clock | processor time | floor "
        "| largest error | rankings |"
    )
    text = (
        "Speed-up of polyprobe over each method. The target is one of processor time; bold: below "
        "it. Floor: speed-up of the matrix products alone, in processor time. Rankings: rankings "
        "that differ."
    )
    return text + "\n\n" + make_table(head, 4, lines)


def _ratio_cells(timed: dict[str, Any], method: str) -> str:
    median, least, greatest = find_ratio(timed["wall"][method], timed["wall"]["ours"])
    cpu, wanted = _median(timed, method, "ours"), _wanted(timed, method)
    shown = _mark(f"{cpu:.3g}", cpu >= wanted)
    if method in OWN_QUANTITY:
        error, rankings = f"own quantity: {timed['own'][method]:.0e}", ""
    else:
        difference = timed["error"]["ours" if method == "reference" else method]
        error = f"{difference['error']:.0e}"
        rankings = f"{difference['rankings']} of {difference['queries']}"
    return (
        f"{method} | {SHARES[method]} | {wanted or ''} | {median:.3g} ({least:.3g}–{greatest:.3g}) "
        f"| {shown} | {_median(timed, method, 'floor'):.3g} | {error} | {rankings}"
    )


def _seconds(found: Found) -> str:
    methods = [m for m in found[0]["wall"] if m != "floor"]
    lines = []
    for t in found:
        cells = [f"{np.median(t['wall'][m]) / t['n_rows']:.4f}" for m in methods]
        share = _median(t, "floor", "ours")
        rate = t["operations"] / np.median(t["wall"]["floor"]) / 1e9
        naive, merged = (sum(t[k][1:3]) for k in ("naive", "merged"))
        lines.append(
            f"| {NAMES[t['model']]} | {t['language']}, {t['n_rows']} | {' | '.join(cells)} "
            f"| {np.median(t['wall']['floor']) / t['n_rows']:.4f} | {rate:.0f} | {share:.0%} "
            f"| {naive:,} | {merged:,} | {naive / merged:.2f} |"
        )
    names = ["polyprobe" if m == "ours" else m for m in methods]
    head = (
        f"| model | rows | {' | '.join(names)} | floor | floor, GFLOP/s | share reached "
        "| tokens, released | merged | ratio |"
    )
    text = (
        "Seconds per row (medians, wall clock), and the share of the floor's speed that polyprobe "
        "reaches (processor time)."
    )
    return text + "\n\n" + make_table(head, 2, lines)


def _tokens(found: Found) -> str:
    lines = []
    for t in found:
        naive, merged = (sum(t[k][1:3]) for k in ("naive", "merged"))
        floor = np.median(t["cpu"]["floor"])
        for method in ("ours", "vLLM", "floor"):
            run = naive if method == "vLLM" else merged
            seconds, share = np.median(t["cpu"][method]), _median(t, "floor", method)
            lines.append(
                f"| {NAMES[t['model']]} | {t['language']} "
                f"| {'polyprobe' if method == 'ours' else method} | {run:,} "
                f"| {seconds / t['n_rows'] * 1e3:.1f} | {seconds / run * 1e3:.3f} | {share:.0%} "
                f"| {floor / merged / (seconds / run):.0%} |"
            )
    head = (
        "| model | rows | method | tokens | ms per row | ms per token | share of the floor per row "
        "| per token |"
    )
    text = (
        "Processor time per row and per token (medians), and the share of the floor's speed. "
        "Tokens: those left after merging; for vLLM, all tokens of the sentences, cached ones "
        "included."
    )
    return text + "\n\n" + make_table(head, 3, lines)


def _kinds(found: Found) -> str:
    kinds = list(found[0]["kinds"])
    lines = [
        f"| {NAMES[t['model']]} | {t['language']} | "
        + " | ".join(f"{t['kinds'][k]:.0%}" for k in kinds)
        + " |"
        for t in found
    ]
    head = f"| model | rows | {' | '.join(kinds)} |"
    text = (
        "Share of polyprobe's time by kind of operator (torch profiler). Outside operators: "
        "tokenization, planning, Python, and the profiler itself."
    )
    return text + "\n\n" + make_table(head, 2, lines)


def list_short(found: Found) -> list[str]:
    """Return a line for each figure below the target: the floor and the largest costs."""
    return [
        f"- {NAMES[t['model']]}, {t['language']}, against {method}: {_reason(t, method)}"
        for t in found
        for method in t["wall"]
        if method not in ("ours", "floor") and _median(t, method, "ours") < _wanted(t, method)
    ]


def _reason(timed: dict[str, Any], method: str) -> str:
    ours, floor = (_median(timed, method, fast) for fast in ("ours", "floor"))
    other = {k: share for k, share in timed["kinds"].items() if k != "matrix products"}
    costs = ", ".join(f"{k} {s:.0%}" for k, s in sorted(other.items(), key=lambda p: -p[1])[:3])
    return (
        f"{ours:.3g} (target: {_wanted(timed, method)}). The floor is at {floor:.3g}; polyprobe "
        f"reaches {ours / floor:.0%} of it. Other costs: {costs}."
    )


def _wanted(timed: dict[str, Any], method: str) -> float:
    """Return the target speed-up; 0 if there is none."""
    return ASKED[timed["model"]].get(method, (0, 0))[timed["language"] == "ru"]


def _median(timed: dict[str, Any], slow: str, fast: str) -> float:
    """Return the ratio of processor time."""
    return find_ratio(timed["cpu"][slow], timed["cpu"][fast])[0]


def make_table(head: str, words: int, lines: list[str]) -> str:
    """Return a Markdown table; the first columns are text, all others numbers."""
    numbers = head.count("|") - 1 - words
    return "\n".join([head, "|" + " --- |" * words + " ---: |" * numbers, *lines])


Found = list[dict[str, Any]]


def describe_machine(setting: Setting) -> str:
    """Return the machine, settings and versions of the measurement."""
    return (
        f"{find_cpu()}, threads: {setting.threads}, {setting.rounds} rounds, "
        f"Python {platform.python_version()}, torch {torch.__version__}, "
        f"transformers {transformers.__version__}"
    )


def write(results: Path, page: Path) -> None:
    """Write the page, growth.svg and machines.json; parts without figures keep their sections."""
    sections = page.read_text(encoding="utf-8").split("\n## ")[1:] if page.exists() else []
    earlier = {title: body.strip() for title, _, body in (x.partition("\n") for x in sections)}
    machines = page.with_name("machines.json")
    tables: dict[str, tuple[str, Callable[[Found], str]]] = {
        **{part: (part.capitalize(), tabulate_times) for part in ENTRIES},
        "contexts": ("Contexts, examples and letters", tabulate_contexts),
        "floor": ("Merging in all of BMLAMA-17", tabulate_merging),
        "prepare": ("Tokenization and planning", tabulate_prepare),
        "equality": ("Equality of scores", tabulate_equality),
        "memory": ("Memory", tabulate_memory),
        "growth": ("Growth", tabulate_growth),
        "gpu": ("On a GPU", tabulate_gpu),
    }
    bodies = {SHORT: _short(results, earlier.get(SHORT, ""))}
    for part, (title, tabulate) in tables.items():
        kept = _read(results, part)
        bodies[title] = earlier.get(title, "Not measured.")
        if kept:
            bodies[title] = f"{kept['machine']}.\n\n{tabulate(kept['found'])}"
        if part == "decoder":
            bodies["The decoder by machine"] = tabulate_machines(keep_machine(kept, machines))
    text = "\n\n".join([INTRODUCTION.strip(), *(f"## {x}\n\n{bodies[x]}" for x in bodies)])
    page.write_text(text + "\n", encoding="utf-8")
    if found := _read(results, "growth"):
        picture = draw_growth(found["found"])
        page.with_name("growth.svg").write_text(picture, encoding="utf-8")


SHORT = "Figures below the target"
INTRODUCTION = """
# Engine: speed compared with other methods and with a lower bound

`python -m bench engine --peers PYTHON --servers PYTHON` compares `load_scorer(model).score` with
other methods for the same scores, on rows of BMLAMA-17 spread over its relations. Every method has
its own process. In each round the methods take turns in random order. Ratios are computed within a
round; the tables give their median (minimum–maximum). All scores are compared with the reference's,
and the benchmark stops if any differ by more than 1e-4 (llama.cpp: 5e-4).

- **reference**: the released approach on token ids: one forward pass per candidate (encoder: per
  sub-word of it), batch size 1, inference mode, all logits.
- **smart**: a competent program of 20 lines for a decoder, with transformers alone: the beginning
  that the sentences of a row share runs once, its keys and values are repeated for the candidates,
  their padded rests are one batch, and the head reads only what is scored (`read_row`).
- **lm-eval**: lm-evaluation-harness 0.4.13, HFLM, batch size 32. Decoder: all tokens of the
  sentence except the first. Encoder-decoder: `<extra_id_0> c` minus `<extra_id_0>`.
- **lm-pub-quiz** 0.3.3, batch size 32, with its most similar score: for an encoder
  `answer_l2r+word_l2r` on the candidate's sub-words inside its sentence, for a decoder the sentence
  after a BOS. Its scores are compared with a plain implementation of the same quantity.
- **vLLM** 0.32.0 for CPUs, in its worker's process, float32: prompt log-probabilities of all
  sentences at once. A sentence reads the prefix cache, in blocks of 32 tokens, only if an earlier
  one gave the log-probabilities of its cached tokens. The cache is emptied before each turn.
- **llama.cpp** (xllamacpp 2026.10), in its worker's process, float32 weights, keys and values. It
  returns no log-probabilities of prompt tokens, so each distinct prefix takes a request whose next
  token is forced; the prompt cache leaves one token to compute, and 24 rows share a batch. Its sum
  of the vocabulary's probabilities is imprecise: log-probabilities are 1e-4 to 2e-4 too high.
- **floor**: only the matrix products, with the model's own weights, of the tokens that remain when
  identical prompts and prefixes are merged, with log-probabilities only where they are needed. For
  each shape, torch's `linear` and oneDNN's product with a packed weight are timed, in blocks of
  64 to 512 tokens; the quickest counts. Its rate is the peak of the machine for these shapes.

Models: SmolLM2-135M-Instruct, converted from GGUF to float32 safetensors; a random XLM-R with 6
layers and hidden size 384; a random mT5-small. The last two have unigram tokenizers with 30,000
pieces, trained on BMLAMA's sentences, which do not suffice for 250,000 pieces. The larger models
have ids that no text produces, so sentences have more tokens than with the original tokenizers of
XLM-R and mT5. RankC of all pairs is timed in [../rankc.md](../rankc.md).
"""


def _read(results: Path, part: str) -> dict[str, Any] | None:
    file = results / f"{part}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def _short(results: Path, earlier: str) -> str:
    lines = []
    for part, entries in ENTRIES.items():
        kept = _read(results, part)
        names = tuple(f"- {NAMES[entry.model]}," for entry in entries)
        before = [line for line in earlier.splitlines() if line.startswith(names)]
        lines += list_short(kept["found"]) if kept else before
    return "\n".join(lines or ["None."])


def keep_machine(decoder: dict[str, Any] | None, file: Path) -> list[dict[str, Any]]:
    """Add the decoder's figures to those of other machines in the file; return all."""
    kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    if decoder is None:
        return kept
    name = decoder["machine"].partition(",")[0]
    kept = [row for row in kept if row["machine"] != name]
    for t in decoder["found"]:
        peers = [method for method in t["wall"] if method not in ("ours", "floor")]
        kept.append(
            {
                "machine": name,
                "date": decoder["date"],
                "rows": t["language"],
                "ratios": {method: round(_median(t, method, "ours"), 2) for method in peers},
                "share": round(_median(t, "floor", "ours"), 3),
            }
        )
    file.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return kept


def tabulate_machines(machines: list[dict[str, Any]]) -> str:
    """Return the ratios of processor time, and the share of the floor, on every machine."""
    names = dict.fromkeys(method for row in machines for method in row["ratios"])
    lines = [
        f"| {row['machine']}, {row['date']} | {row['rows']} "
        f"| {' | '.join(str(row['ratios'].get(name, '')) for name in names)} "
        f"| {row['share']:.0%} |"
        for row in machines
    ]
    head = f"| machine | rows | {' | '.join(names)} | share of the floor |"
    text = "Processor time of each method over polyprobe's. The last run of each machine counts."
    return text + "\n\n" + make_table(head, 2, lines)


def tabulate_contexts(found: Found) -> str:
    """Return tokens against the minimum, and ratios of processor time."""
    lines = []
    for row in found:
        ratio = row["tokens"] / row["minimum"]
        least = SMART.get(row["case"], (0, 0))[row["language"] == "ru"]
        smart = find_ratio(row["cpu"]["smart"], row["cpu"]["ours"])[0]
        reference = find_ratio(row["cpu"]["reference"], row["cpu"]["ours"])[0]
        lines.append(
            f"| {row['case']} | {row['language']}, {row['n_rows']} | {row['front']:,} "
            f"| {row['naive']:,} | {row['tokens']:,} | {_mark(f'{ratio:.3f}', ratio <= MOST)} "
            f"| {least or ''} | {_mark(f'{smart:.3g}', smart >= least)} | {reference:.3g} "
            f"| {row['error']['ours']:.0e} | {row['error']['smart']:.0e} |"
        )
    head = (
        "| context | rows | its tokens | tokens, released | run | times the minimum | target "
        "| smart | reference | error | of smart |"
    )
    text = (
        "SmolLM2-135M behind a chat's system message with solved examples, behind examples of each "
        "row's relation (`--shots`, six relations), and with letters in all orders. Minimum: the "
        f"number of distinct beginnings of all inputs (target: {MOST} times). Smart and reference: "
        "their processor time over polyprobe's. The reference runs some of the sentences; its time "
        "for all is in proportion to their tokens. Error: from the "
        "reference; of smart: from polyprobe."
    )
    return text + "\n\n" + make_table(head, 2, lines)


def _mark(shown: str, reached: bool) -> str:
    return shown if reached else f"**{shown}**"


def tabulate_merging(found: Found) -> str:
    """Return tokens of the released approach, and their ratio to the tokens left after merging.

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
        "Tokens (encoder and decoder together) of the released approach, and the factor of "
        "reduction when prefixes and equal inputs are shared within a row, between rows with the "
        "same prompt, or in the whole language. Inputs left: distinct sentences, masked states or "
        "encoder inputs."
    )
    return text + "\n\n" + make_table(head, 2, lines)


def tabulate_prepare(found: Found) -> str:
    """Return the candidates that are prepared in a second."""
    lines = [
        f"| {NAMES[row['model']]} | {row['language']} | {row['candidates']:,} "
        f"| {row['candidates'] / row['seconds']:,.0f} |"
        for row in found
    ]
    text = (
        "`Scorer.prepare` alone, in processor time. In a run a thread prepares the next task while "
        "the model scores one."
    )
    head = "| model | language | candidates | candidates per second |"
    return text + "\n\n" + make_table(head, 2, lines)


def tabulate_equality(found: Found) -> str:
    """Return errors in float32 by model, and changes by bfloat16 by model and language."""
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
        "| first candidates that differ |"
    )
    text = (
        "polyprobe compared with the reference in float32, in further languages (en and ru: "
        "above), and in bfloat16, or with products in bfloat16 of float32 weights, compared with "
        "float32. A ranking differs if any two candidates change places."
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
    """Return peaks and targets; without a context 1.5 times the weights plus 1 GB."""
    lines = []
    for row in found:
        asked = f"{row['target'] / 1e9:.2f}" if row["target"] else ""
        weights = f"{row['weights'] / 1e9:.3f}" if row["weights"] else ""
        lines.append(
            f"| {row['what']} | {weights} | {asked} | {row['peak'] / 1e9:.2f} "
            f"| {row['seconds']:.0f} |"
        )
    head = "| SmolLM2-135M | weights in float32, GB | target, GB | peak, GB | seconds |"
    text = "Peak resident memory of a fresh process (GB = 10^9 bytes)."
    return text + "\n\n" + make_table(head, 1, lines)


def tabulate_growth(found: Found) -> str:
    """Return the curves and their exponents."""
    lines = []
    for curve in found:
        points = zip(curve["sizes"], curve["seconds"], strict=True)
        shown = ", ".join(f"{size}: {seconds:.2f}" for size, seconds in points)
        model = curve["model"].removeprefix("growth-")
        lines.append(f"| {curve['what']} | {model} | {shown} | {curve['exponent']:.2f} |")
    head = "| variable | model | seconds | exponent |"
    text = (
        "Small models (2 layers, 30k). Candidates: 50 queries with candidates sampled from those "
        "of the language. Queries: as published. Languages: a complete `evaluate_model` of 100 "
        "facts with all figures and an empty score store. The exponent is the slope of the "
        "logarithms; 1 is linear.\n\n![time against candidates, queries and languages](growth.svg)"
    )
    return text + "\n\n" + make_table(head, 3, sorted(lines))


def tabulate_gpu(found: Found) -> str:
    """Return the figures of gpu.py."""
    lines = [
        f"| {row['model']} | {row['language']} | {row['way']} | {row['seconds']:.2f} "
        f"| {row['tokens']:,} | {row['tokens'] / row['seconds']:,.0f} "
        f"| {row['sentence_tokens'] / row['seconds']:,.0f} | {row['rate'] / 1e12:.2f} "
        f"| {row['rate'] / row['ceiling']:.1%} | {row['error']:.1e} |"
        for row in found
    ]
    head = (
        "| model | rows | method | seconds | tokens run | per second | sentence tokens per second "
        "| TFLOP/s | share of the ceiling | difference |"
    )
    text = (
        "Random weights, bfloat16. Tokens run: whole sentences, or the tokens left after merging. "
        f"The ceiling is a large bfloat16 product: {found[0]['ceiling'] / 1e12:.2f} TFLOP/s. "
        "Difference: largest difference from the scores of the first method."
    )
    return text + "\n\n" + make_table(head, 3, lines)
