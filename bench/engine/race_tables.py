"""The tables of the races: ratios beside what is asked, seconds beside the floor, our time."""

from typing import Any

import numpy as np
from race import find_ratio
from timing import OWN_QUANTITY

# What issue 5 asks for: how many times as fast as each method, by model, in en and ru.
ASKED = {
    "decoder": {"reference": (14, 5), "lm-eval": (4, 3.5)},
    "encoder-30k": {"reference": (13, 9), "lm-pub-quiz": (4, 4)},
    "encoder-250k": {"reference": (30, 21), "lm-pub-quiz": (12, 12)},
    "encoder-decoder-30k": {"reference": (11, 9.5), "lm-eval": (3.4, 3.4)},
    "encoder-decoder-250k": {"reference": (11, 9.5), "lm-eval": (3.4, 3.4)},
}
NAMES = {
    "decoder": "decoder, SmolLM2-135M",
    "encoder-30k": "encoder, 30k",
    "encoder-250k": "encoder, 250k",
    "encoder-decoder-30k": "encoder-decoder, 30k",
    "encoder-decoder-250k": "encoder-decoder, 250k",
}
Found = list[dict[str, Any]]


def tabulate_times(found: Found) -> str:
    """Return ratios with what is asked, seconds with the floor, and where our time goes."""
    return "\n\n".join([_ratios(found), _seconds(found), _kinds(found)])


def _ratios(found: Found) -> str:
    lines = [
        f"| {NAMES[t['model']]} | {t['language']} | {_ratio_cells(t, method)} |"
        for t in found
        for method in t["wall"]
        if method not in ("ours", "floor")
    ]
    head = (
        "| model | rows | against | asked | wall clock | processor | the floor's | largest error "
        "| rankings |"
    )
    text = (
        "How many times as fast ours is as each method; bold where less than asked. The floor's: "
        "how many times as fast nothing but the matrix products are. Rankings: those that differ."
    )
    return text + "\n\n" + make_table(head, 3, lines)


def _ratio_cells(timed: dict[str, Any], method: str) -> str:
    median, least, greatest = find_ratio(timed["wall"][method], timed["wall"]["ours"])
    cpu, _, _ = find_ratio(timed["cpu"][method], timed["cpu"]["ours"])
    wanted = _wanted(timed, method)
    shown = f"**{median:.3g}**" if median < wanted else f"{median:.3g}"
    if method in OWN_QUANTITY:
        error, rankings = f"own quantity: {timed['own'][method]:.0e}", ""
    else:
        difference = timed["error"]["ours" if method == "reference" else method]
        error = f"{difference['error']:.0e}"
        rankings = f"{difference['rankings']} of {difference['queries']}"
    return (
        f"{method} | {wanted or ''} | {shown} ({least:.3g}–{greatest:.3g}) | {cpu:.3g} "
        f"| {_median(timed, method, 'floor'):.3g} | {error} | {rankings}"
    )


def _seconds(found: Found) -> str:
    methods = [m for m in found[0]["wall"] if m != "floor"]
    lines = []
    for t in found:
        cells = [f"{np.median(t['wall'][m]) / t['n_rows']:.4f}" for m in methods]
        share, _, _ = find_ratio(t["wall"]["floor"], t["wall"]["ours"])
        rate = t["operations"] / np.median(t["wall"]["floor"]) / 1e9
        naive, merged = (sum(t[k][1:3]) for k in ("naive", "merged"))
        lines.append(
            f"| {NAMES[t['model']]} | {t['language']}, {t['n_rows']} | {' | '.join(cells)} "
            f"| {np.median(t['wall']['floor']) / t['n_rows']:.4f} | {rate:.0f} | {share:.0%} "
            f"| {naive:,} | {merged:,} | {naive / merged:.2f} |"
        )
    head = (
        f"| model | rows | {' | '.join(methods)} | floor | its GFLOP/s | share reached "
        "| tokens, released | merged | ratio |"
    )
    text = "Seconds a row (medians), and how much of the floor ours reaches."
    return text + "\n\n" + make_table(head, 2, lines)


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
        "Where our time goes (torch's profiler; outside operators: tokenizing, planning, Python, "
        "and the profiler itself)."
    )
    return text + "\n\n" + make_table(head, 2, lines)


def list_short(found: Found) -> list[str]:
    """Return a line for each figure below what is asked: what the floor allows, what takes time."""
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
        f"{ours:.3g} of {_wanted(timed, method)}. The matrix products alone would be {floor:.3g} "
        f"times as fast; ours reaches {ours / floor:.0%} of that. Of its time: {costs}."
    )


def _wanted(timed: dict[str, Any], method: str) -> float:
    """Return how many times as fast ours is asked to be; 0 where nothing is."""
    return ASKED[timed["model"]].get(method, (0, 0))[timed["language"] == "ru"]


def _median(timed: dict[str, Any], slow: str, fast: str) -> float:
    return find_ratio(timed["wall"][slow], timed["wall"][fast])[0]


def make_table(head: str, words: int, lines: list[str]) -> str:
    """Return a Markdown table; its first columns hold words, all others numbers."""
    numbers = head.count("|") - 1 - words
    return "\n".join([head, "|" + " --- |" * words + " ---: |" * numbers, *lines])
