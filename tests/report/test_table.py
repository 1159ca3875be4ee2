"""The terminal table: figures, means, chance, and 80 columns."""

import hashlib
from io import StringIO

from rich.console import Console

from polyprobe.report.findings.run import make_run_finding
from polyprobe.report.show import render

RESULTS = {
    "signature": "model:m@1|data:d/17|languages:" + "+".join(f"l{i}@abcdef" for i in range(53)),
    "languages": ["en", "fr", "zh_hans"],
    "n_queries": 6792,
    "accuracy": {"en": 0.5, "fr": 0.25, "zh_hans": 0.125},
    "rankc": {"en-fr": 0.9, "en-zh_hans": 0.5, "fr-zh_hans": 0.4},
    "rankc_adjusted": {"en-fr": 0.8, "en-zh_hans": -0.2, "fr-zh_hans": 0.2},
    "coverlap": {"en-fr": 0.5, "en-zh_hans": 0.0, "fr-zh_hans": None},
    "chance": {"accuracy": 0.1, "rankc": 0.158},
    "mean": {"accuracy": 0.7 / 2.4, "rankc": 0.6, "rankc_adjusted": 0.8 / 3, "coverlap": 0.25},
    "left_out": {"rankc_adjusted": 34, "coverlap": 1},
    "intervals": {},
    "resampling": {"n_resamples": 0, "seed": 0, "clusters": "none"},
    "subset": None,
}


def printed(results, width=80):
    console = Console(file=StringIO(), width=width)
    for block in render(make_run_finding(results), width):
        console.print(block, highlight=False)
    return console.file.getvalue().splitlines()


def cells(lines):
    rows = [[c.strip() for c in line.strip("│").split("│")] for line in lines if "│" in line]
    return {row[0]: row[1:] for row in rows}


def test_a_row_is_a_language_with_its_means_over_the_others():
    assert cells(printed(RESULTS)) == {
        "en": ["0.500", f"{(0.9 + 0.5) / 2:.3f}", f"{(0.8 - 0.2) / 2:.3f}", f"{(0.5 + 0) / 2:.3f}"],
        "fr": ["0.250", f"{(0.9 + 0.4) / 2:.3f}", f"{(0.8 + 0.2) / 2:.3f}", "0.500"],
        "zh_hans": ["0.125", f"{(0.5 + 0.4) / 2:.3f}", "0.000", "0.000"],
        "mean": ["0.292", "0.600", "0.267", "0.250"],
        "chance": ["0.100", "0.158", "0.000", "–"],
    }


def test_what_was_left_out_is_counted_and_the_signature_is_short():
    lines = printed(RESULTS)
    text = "\n".join(lines)
    assert "6,792 facts" in text
    assert "34 facts with one candidate: no adjusted RankC, no kappa" in text
    assert "1 pairs without COverlap" in text
    digest = hashlib.sha256(RESULTS["signature"].encode()).hexdigest()[:8]
    whole = "\n".join(printed({**RESULTS, "left_out": {"rankc_adjusted": 0, "coverlap": 0}}))
    assert not any(words in whole for words in ("one candidate", "without COverlap"))
    assert lines[-1] == f"signature {digest}: model m@1, data d/17, languages 53"


def test_intervals_are_below_the_means_and_marked_without_width():
    means = {"accuracy": [0.25, 0.75], "rankc": [0.6, 0.6], "rankc_adjusted": [-0.1, 0.4]}
    lines = printed({**RESULTS, "intervals": {"mean": {**means, "coverlap": None}}})
    rows = cells(lines)
    assert rows["95% from"] == ["0.250", "0.600*", "-0.100", "–"]
    assert rows["95% to"] == ["0.750", "0.600*", "0.400", "–"]
    assert any(line.startswith("*: all resamples have this value") for line in lines)
    assert not any(line.startswith("*:") for line in printed(RESULTS))
